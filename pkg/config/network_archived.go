package config

import (
	"github.com/netwright/netwright/pkg/config/document"

	"github.com/netwright/netwright/pkg/config/decode"
)

// Bare is a network without fields here: what it can be told is told to its own DaemonSet or
// controller.
type Bare struct{}

// goneNetworks cannot be had any more: a document may name them, the model refuses them and says
// what to use instead, and nobody who looks for a network is told of them.
var goneNetworks = [...]string{"classic", "jaguar"}

// bare is the choice of a network without fields.
func bare(name string, at func(*Networking) **Bare) choice {
	return choice{name, func(w *Networking) bool { return *at(w) != nil },
		func(w *Networking) []decode.Field { allocate(at(w)); return nil }}
}

// ACI is Cisco's aci-containers. https://github.com/noironetworks/acc-provision, net_config of its
// configuration
type ACI struct {
	// MTU: of the pods' links (interface_mtu); not said: that of the infrastructure VLAN's link
	// less 100
	MTU int `json:"mtu,omitempty"`
}

// Contrail is Contrail, Tungsten Fabric, or OpenSDN.
// https://github.com/OpenSDN-io/tf-container-builder
type Contrail struct {
	Operator bool `json:"operator,omitempty"` // tf-operator deployed it; its conf is 10-tf-cni.conf then
}

// KVSwitch is k-vswitch. https://github.com/k-vswitch/k-vswitch
type KVSwitch struct {
	Overlay string `json:"overlay"` // what carries packets between nodes
}

// archived are the choices of networks that ended, sleep, or cannot be had without their maker.
func archived() []choice {
	return []choice{
		{"aci", func(w *Networking) bool { return w.ACI != nil }, func(w *Networking) []decode.Field {
			return []decode.Field{{Name: "mtu", Set: decode.Number(&allocate(&w.ACI).MTU, 1280, 8900)}} // acc_provision.py
		}},
		bare("classic", func(w *Networking) **Bare { return &w.Classic }),
		bare("cniGenie", func(w *Networking) **Bare { return &w.CNIGenie }),
		bare("contivVPP", func(w *Networking) **Bare { return &w.ContivVPP }),
		{"contrail", func(w *Networking) bool { return w.Contrail != nil }, func(w *Networking) []decode.Field {
			return []decode.Field{{Name: "operator", Set: decode.Bool(&allocate(&w.Contrail).Operator)}}
		}},
		bare("danm", func(w *Networking) **Bare { return &w.DANM }),
		bare("jaguar", func(w *Networking) **Bare { return &w.Jaguar }),
		{"kVSwitch", func(w *Networking) bool { return w.KVSwitch != nil }, func(w *Networking) []decode.Field {
			return []decode.Field{{Name: "overlay", Set: decode.Choice(&allocate(&w.KVSwitch).Overlay, "vxlan", "gre")}}
		}},
		bare("knitter", func(w *Networking) **Bare { return &w.Knitter }),
		bare("nsxT", func(w *Networking) **Bare { return &w.NSXT }),
		bare("ovn4nfv", func(w *Networking) **Bare { return &w.OVN4NFV }),
	}
}

func (n *Node) fillArchived() {
	if k := n.Networking.KVSwitch; k != nil {
		decode.Fill(n.origins, "spec.networking.kVSwitch.overlay", document.NodeDefault, &k.Overlay, "vxlan")
	}
}
