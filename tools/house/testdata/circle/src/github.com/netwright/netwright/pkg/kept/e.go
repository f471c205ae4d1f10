package kept

func e() { a{}.call(b{}) }
