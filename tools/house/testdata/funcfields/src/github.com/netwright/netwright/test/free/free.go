package free

type Free struct{ a, b, c, d func() }
