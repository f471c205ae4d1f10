package main // want package:"package main" `several packages have an exported type Node \(pkg/a, pkg/b, pkg/c\)` `no two packages have an exported type Unique any more: remove its line from sharedNames`

import (
	"github.com/netwright/netwright/pkg/a"
	"github.com/netwright/netwright/pkg/c"
)

func main() {
	a.Other()
	_ = c.Node{}
}
