package networks

import "github.com/netwright/netwright/pkg/config/decode"

// Contrail has the settings of Contrail, also called Tungsten Fabric or OpenSDN.
// https://github.com/OpenSDN-io/tf-container-builder
type Contrail struct {
	Operator bool `json:"operator,omitempty"` // tf-operator deployed it; its conf is 10-tf-cni.conf then
}

func (c *Contrail) fields() []decode.Field {
	return []decode.Field{decode.Bool("operator", &c.Operator)}
}
