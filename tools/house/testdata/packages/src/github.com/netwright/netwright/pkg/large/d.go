package large

func d() { e() }
