package kept

func d() { e() }
