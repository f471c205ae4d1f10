package mended

type c struct{}

func toD() { d() }

var _ = toD
