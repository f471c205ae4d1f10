package kept

func b() { c() }
