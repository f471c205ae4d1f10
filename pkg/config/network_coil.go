package config

import (
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
)

// Coil holds what of coild matters to the node; kOps never had it.
// https://github.com/cybozu-go/coil/blob/v2.15.0/docs/cmd-coild.md
type Coil struct {
	IPAM         bool `json:"ipam"`                   // false: chained after another plugin, for its egress only
	Egress       bool `json:"egress"`                 // pods leave by NAT servers, over FoU
	CompatCalico bool `json:"compatCalico,omitempty"` // names the pods' links as Calico does
}

func (c *Coil) fields() []field {
	return []field{
		{name: "ipam", set: Bool(&c.IPAM)},
		{name: "egress", set: Bool(&c.Egress)},
		{name: "compatCalico", set: Bool(&c.CompatCalico)},
	}
}

// Hybridnet holds what of its daemon matters to the node; kOps never had it.
// https://github.com/alibaba/hybridnet/blob/v0.8.8/charts/hybridnet/values.yaml
type Hybridnet struct {
	NetworkType string `json:"networkType"` // of the network that most pods are in
	ConfName    string `json:"cniConfName"` // the name of its conf, in the conf directory
	Policy      bool   `json:"policy"`      // Felix keeps network policy
}

func (h *Hybridnet) fields() []field {
	return []field{
		{name: "networkType", set: Choice(&h.NetworkType, "vxlan", "vlan", "bgp")},
		{name: "cniConfName", set: Text(&h.ConfName, validConflist)},
		{name: "policy", set: Bool(&h.Policy)},
	}
}

func validConflist(s string) string {
	if strings.HasSuffix(s, ".conflist") && validConfName(s) == "" {
		return ""
	}
	return "the name of a file, such as 06-hybridnet.conflist"
}

func (n *Node) fillCoil() {
	if c := n.Networking.Coil; c != nil {
		fill(n.origins, "spec.networking.coil.ipam", document.NodeDefault, &c.IPAM, true)
		fill(n.origins, "spec.networking.coil.egress", document.NodeDefault, &c.Egress, true)
	}
	if h := n.Networking.Hybridnet; h != nil {
		const at = "spec.networking.hybridnet."
		fill(n.origins, at+"networkType", document.NodeDefault, &h.NetworkType, "vxlan")
		fill(n.origins, at+"cniConfName", document.NodeDefault, &h.ConfName, "06-hybridnet.conflist")
		fill(n.origins, at+"policy", document.NodeDefault, &h.Policy, true)
	}
}

// coil without its two halves is nothing.
func (v *validator) coil() {
	if c := v.node.Networking.Coil; c != nil && !c.IPAM && !c.Egress {
		v.errorAt("spec.networking.coil.egress", document.Diagnostic{Summary: "coil neither gives addresses nor takes pods out: ipam and egress are both false", Expected: "one of them true"})
	}
}
