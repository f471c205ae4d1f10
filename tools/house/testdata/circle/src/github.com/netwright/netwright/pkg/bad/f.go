package bad

// uses all, and nobody uses it: it is in no circle.
func f() { d(); e(); toD() }

var _ = f
