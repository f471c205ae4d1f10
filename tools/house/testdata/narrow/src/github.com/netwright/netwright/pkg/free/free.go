package free

// Task of another package has no such bound.
type Task interface {
	m0()
	m1()
	m2()
	m3()
	m4()
	m5()
}
