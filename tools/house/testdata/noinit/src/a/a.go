package a

func init() {} // want `func init runs before main`

type t struct{}

func (t) init() {}
