package networks

import "github.com/netwright/netwright/pkg/config/decode"

// ACI is Cisco's aci-containers. https://github.com/noironetworks/acc-provision, net_config of its
// configuration
type ACI struct {
	// MTU: of the pods' links (interface_mtu); not said: that of the infrastructure VLAN's link
	// less 100
	MTU int `json:"mtu,omitempty"`
}

func (a *ACI) fields() []decode.Field {
	return []decode.Field{decode.Number("mtu", &a.MTU, 1280, 8900)} // acc_provision.py
}
