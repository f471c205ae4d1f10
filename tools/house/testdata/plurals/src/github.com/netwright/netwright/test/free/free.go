package free

import "fmt"

var _ = fmt.Sprintf("%d keys", len("a"))
