package fine

func last() { a{}.call(b{}) }

var _ = last
