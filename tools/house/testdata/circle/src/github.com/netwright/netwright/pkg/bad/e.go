package bad

func e() { a{}.call(b{}) }
