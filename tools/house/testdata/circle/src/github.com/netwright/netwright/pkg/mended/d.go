package mended

func d() { e() }
