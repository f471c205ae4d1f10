package fine

func d() { e() }
