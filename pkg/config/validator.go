package config

import "github.com/netwright/netwright/pkg/config/decode"

// validator checks what no single value shows: the merged node as a whole.
type validator struct {
	*decode.Reporter
	node *Node
}
