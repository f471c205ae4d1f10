package mended // want `package pkg/mended is cut now: remove its line from largeStill in tools/house/packages.go`

func A() {}
