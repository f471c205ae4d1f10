package bad // want `5 of 6 files of package pkg/bad refer to each other in a circle, at most 4: a.go, b.go, c.go, d.go, e.go: give what they share a package below`

type a struct{ next *b }

func (a) call(x b) { x.call(nil) }
