package networks

import "github.com/netwright/netwright/pkg/config/decode"

// ACI has the settings of Cisco's aci-containers. Source: net_config of the configuration of
// https://github.com/noironetworks/acc-provision
type ACI struct {
	// MTU: Says the MTU of the pods' links in bytes (interface_mtu). Without it, the MTU is that of
	// the infrastructure VLAN's link less 100. Only the DaemonSet sets it.
	MTU int `json:"mtu,omitempty"`
}

func (a *ACI) fields() []decode.Field {
	return []decode.Field{decode.Number("mtu", &a.MTU, 1280, 8900)} // acc_provision.py
}
