package a

var told = 0
