package fine

// a use in a test makes no circle, nor does the use of a field or a call through an interface.
func e() { _ = struct{ next int }{}.next }
