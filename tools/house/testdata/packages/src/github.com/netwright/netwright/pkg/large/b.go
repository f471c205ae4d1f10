package large

func b() { c() }
