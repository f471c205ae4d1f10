package large

func c() { d() }
