package mended // want `package pkg/mended is cut now: remove its line from uncut in tools/house/circle.go`

type a struct{ next *b }

func (a) call(x b) { x.call(nil) }
