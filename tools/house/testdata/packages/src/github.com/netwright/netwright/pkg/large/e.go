package large

func e() { a() }
