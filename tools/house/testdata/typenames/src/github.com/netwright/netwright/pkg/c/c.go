package c // want package:"package c"

type Node struct{}

type Alone struct{}
