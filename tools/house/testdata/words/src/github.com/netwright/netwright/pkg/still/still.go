package still

var told = 0
