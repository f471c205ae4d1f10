package kept

func a() { b() }
