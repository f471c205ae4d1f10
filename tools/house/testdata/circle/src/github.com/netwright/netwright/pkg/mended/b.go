package mended

type b struct{}

func (b) call(x interface{ do(c) }) { x.do(c{}) }
