package free

func d() { e() }
