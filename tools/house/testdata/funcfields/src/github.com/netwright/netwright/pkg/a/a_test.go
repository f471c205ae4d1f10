package a

type inATest struct{ a, b, c, d func() }
