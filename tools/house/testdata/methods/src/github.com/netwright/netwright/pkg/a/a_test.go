package a

type inATest struct{}

func (inATest) m0()  {}
func (inATest) m1()  {}
func (inATest) m2()  {}
func (inATest) m3()  {}
func (inATest) m4()  {}
func (inATest) m5()  {}
func (inATest) m6()  {}
func (inATest) m7()  {}
func (inATest) m8()  {}
func (inATest) m9()  {}
func (inATest) m10() {}
func (inATest) m11() {}
func (inATest) m12() {}
func (inATest) m13() {}
func (inATest) m14() {}
func (inATest) m15() {}
func (inATest) m16() {}
func (inATest) m17() {}
func (inATest) m18() {}
func (inATest) m19() {}
func (inATest) m20() {}
func (inATest) m21() {}
func (inATest) m22() {}
func (inATest) m23() {}
func (inATest) m24() {}
func (inATest) m25() {}
