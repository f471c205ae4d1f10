package a

// Full has as many methods as it may.
type Full struct{}

func (*Full) m0()  {}
func (*Full) m1()  {}
func (*Full) m2()  {}
func (*Full) m3()  {}
func (*Full) m4()  {}
func (*Full) m5()  {}
func (*Full) m6()  {}
func (*Full) m7()  {}
func (*Full) m8()  {}
func (*Full) m9()  {}
func (*Full) m10() {}
func (*Full) m11() {}
func (*Full) m12() {}
func (*Full) m13() {}
func (*Full) m14() {}
func (*Full) m15() {}
func (*Full) m16() {}
func (*Full) m17() {}
func (*Full) m18() {}
func (*Full) m19() {}
func (*Full) m20() {}
func (*Full) m21() {}
func (*Full) m22() {}
func (*Full) m23() {}
func (*Full) m24() {}

type Over struct{} // want `type Over has 26 methods, at most 25`

func (*Over) m0()  {}
func (*Over) m1()  {}
func (*Over) m2()  {}
func (*Over) m3()  {}
func (*Over) m4()  {}
func (*Over) m5()  {}
func (*Over) m6()  {}
func (*Over) m7()  {}
func (*Over) m8()  {}
func (*Over) m9()  {}
func (*Over) m10() {}
func (*Over) m11() {}
func (*Over) m12() {}
func (*Over) m13() {}
func (*Over) m14() {}
func (*Over) m15() {}
func (*Over) m16() {}
func (*Over) m17() {}
func (*Over) m18() {}
func (*Over) m19() {}
func (Over) m20()  {}
func (Over) m21()  {}
func (Over) m22()  {}
func (Over) m23()  {}
func (Over) m24()  {}
func (Over) m25()  {}

type part struct{}

func (part) m0()  {}
func (part) m1()  {}
func (part) m2()  {}
func (part) m3()  {}
func (part) m4()  {}
func (part) m5()  {}
func (part) m6()  {}
func (part) m7()  {}
func (part) m8()  {}
func (part) m9()  {}
func (part) m10() {}
func (part) m11() {}
func (part) m12() {}
func (part) m13() {}
func (part) m14() {}
func (part) m15() {}
func (part) m16() {}
func (part) m17() {}
func (part) m18() {}
func (part) m19() {}

type Embeds struct{ part } // want `type Embeds has 27 methods, at most 25`

func (Embeds) m100() {}
func (Embeds) m101() {}
func (Embeds) m102() {}
func (Embeds) m103() {}
func (Embeds) m104() {}
func (Embeds) m105() {}
func (Embeds) m106() {}

// Named has a field of the same type.
type Named struct{ part part }

func (Named) m100() {}
func (Named) m101() {}
func (Named) m102() {}
func (Named) m103() {}
func (Named) m104() {}
func (Named) m105() {}
func (Named) m106() {}

type Shadows struct{ part } // as many as part has: these hide its own

func (Shadows) m0()  {}
func (Shadows) m1()  {}
func (Shadows) m2()  {}
func (Shadows) m3()  {}
func (Shadows) m4()  {}
func (Shadows) m5()  {}
func (Shadows) m6()  {}
func (Shadows) m7()  {}
func (Shadows) m8()  {}
func (Shadows) m9()  {}
func (Shadows) m10() {}
func (Shadows) m11() {}
func (Shadows) m12() {}
func (Shadows) m13() {}
func (Shadows) m14() {}
func (Shadows) m15() {}
func (Shadows) m16() {}
func (Shadows) m17() {}
func (Shadows) m18() {}
func (Shadows) m19() {}

type Wide interface { // want `type Wide has 26 methods, at most 25`
	Narrow
	w0()
	w1()
	w2()
	w3()
	w4()
	w5()
}

type Narrow interface {
	n0()
	n1()
	n2()
	n3()
	n4()
	n5()
	n6()
	n7()
	n8()
	n9()
	n10()
	n11()
	n12()
	n13()
	n14()
	n15()
	n16()
	n17()
	n18()
	n19()
}

// Kept is on the list.
type Kept struct{}

func (Kept) m0()  {}
func (Kept) m1()  {}
func (Kept) m2()  {}
func (Kept) m3()  {}
func (Kept) m4()  {}
func (Kept) m5()  {}
func (Kept) m6()  {}
func (Kept) m7()  {}
func (Kept) m8()  {}
func (Kept) m9()  {}
func (Kept) m10() {}
func (Kept) m11() {}
func (Kept) m12() {}
func (Kept) m13() {}
func (Kept) m14() {}
func (Kept) m15() {}
func (Kept) m16() {}
func (Kept) m17() {}
func (Kept) m18() {}
func (Kept) m19() {}
func (Kept) m20() {}
func (Kept) m21() {}
func (Kept) m22() {}
func (Kept) m23() {}
func (Kept) m24() {}
func (Kept) m25() {}

// Alias is another name.
type Alias = Full
