package a // want package:"package a"

import "github.com/netwright/netwright/pkg/b"

type (
	Node   struct{} // want `several packages have an exported type Node \(pkg/a, pkg/b\)`
	Reader struct{} // it is on the list
	Alias  = b.Alias
	own    struct{}
)

func Other() {}
