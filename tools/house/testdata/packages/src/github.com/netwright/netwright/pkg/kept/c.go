package kept

func c() { d() }
