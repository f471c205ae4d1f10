package free

import "github.com/netwright/netwright/pkg/a"

type Node struct{ a.Node }
