package free

type Free struct{}

func (Free) m0()  {}
func (Free) m1()  {}
func (Free) m2()  {}
func (Free) m3()  {}
func (Free) m4()  {}
func (Free) m5()  {}
func (Free) m6()  {}
func (Free) m7()  {}
func (Free) m8()  {}
func (Free) m9()  {}
func (Free) m10() {}
func (Free) m11() {}
func (Free) m12() {}
func (Free) m13() {}
func (Free) m14() {}
func (Free) m15() {}
func (Free) m16() {}
func (Free) m17() {}
func (Free) m18() {}
func (Free) m19() {}
func (Free) m20() {}
func (Free) m21() {}
func (Free) m22() {}
func (Free) m23() {}
func (Free) m24() {}
func (Free) m25() {}
