package tasks

type part interface {
	m0()
	m1()
}

type Task interface { // want `Task has 6 methods, at most 5`
	part
	m2()
	m3()
	m4()
	m5()
}
