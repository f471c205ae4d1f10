package parts

// Full has as many methods as it may.
type Full interface {
	M0()
	M1()
	M2()
	M3()
	M4()
	M5()
}

// Over has more, which matters only in a view.
type Over interface {
	Full
	M6()
}

// Facts is no interface.
type Facts struct{}

func (*Facts) M0() {}
func (*Facts) M1() {}
func (*Facts) M2() {}
func (*Facts) M3() {}
func (*Facts) M4() {}
func (*Facts) M5() {}
func (*Facts) M6() {}
