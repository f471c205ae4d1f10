package mended

func e() {}
