package config

import "github.com/netwright/netwright/pkg/config/decode"

// validator checks the merged node as a whole, for what no single value shows.
type validator struct {
	*decode.Reporter
	node *Node
}
