package networks

import "github.com/netwright/netwright/pkg/config/decode"

// Contrail has the settings of Contrail, also called Tungsten Fabric or OpenSDN.
// https://github.com/OpenSDN-io/tf-container-builder
type Contrail struct {
	// Operator: true means that tf-operator deployed Contrail. Then its conf is 10-tf-cni.conf.
	Operator bool `json:"operator,omitempty"`
}

func (c *Contrail) fields() []decode.Field {
	return []decode.Field{decode.Bool("operator", &c.Operator)}
}
