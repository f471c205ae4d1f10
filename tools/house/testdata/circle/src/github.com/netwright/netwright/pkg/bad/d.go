package bad

func d() { e() }
