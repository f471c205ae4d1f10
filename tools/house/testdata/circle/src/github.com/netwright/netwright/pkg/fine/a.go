package fine

type a struct{ next *b }

func (a) call(x b) { x.call(nil) }
