package bad

type c struct{}

func toD() { d() }

var _ = toD
