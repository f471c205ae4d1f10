package b

// Of another module: not ours to judge.
type other struct{ token string }
