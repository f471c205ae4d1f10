package free

var told = 0
