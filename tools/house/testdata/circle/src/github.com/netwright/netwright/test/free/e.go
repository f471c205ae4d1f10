package free

func e() { a{}.call(b{}) }
