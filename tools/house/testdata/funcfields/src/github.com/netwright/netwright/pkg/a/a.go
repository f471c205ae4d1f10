package a

type call func(int) error

// Three has as many as it may, beside other fields.
type Three struct {
	a, b func()
	c    call
	d    int
	e    []func()
	f    interface{ m() }
}

type Four struct { // want `struct with 4 fields of a func type, at most 3`
	a, b func()
	c, d call
}

// Kept is on the list.
type Kept struct{ a, b, c, d func() }

func local() {
	_ = struct{ a, b, c, d func() }{} // want `struct with 4 fields of a func type`
	type inside struct {              // want `struct with 5 fields of a func type`
		a, b, c, d, e func()
	}
	_ = inside{}
}
