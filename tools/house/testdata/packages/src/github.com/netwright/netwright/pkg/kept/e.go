package kept

func e() { a() }
