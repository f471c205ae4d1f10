package y

import "os"

var _, _ = os.Open("x")
