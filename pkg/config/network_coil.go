package config

import (
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Coil holds what of coild matters to the node; kOps never had it.
// https://github.com/cybozu-go/coil/blob/v2.15.0/docs/cmd-coild.md
type Coil struct {
	IPAM         bool `json:"ipam"`                   // false: chained after another plugin, for its egress only
	Egress       bool `json:"egress"`                 // pods leave by NAT servers, over FoU
	CompatCalico bool `json:"compatCalico,omitempty"` // names the pods' links as Calico does
}

func (c *Coil) fields() []decode.Field {
	return []decode.Field{
		{Name: "ipam", Set: decode.Bool(&c.IPAM)},
		{Name: "egress", Set: decode.Bool(&c.Egress)},
		{Name: "compatCalico", Set: decode.Bool(&c.CompatCalico)},
	}
}

// Hybridnet holds what of its daemon matters to the node; kOps never had it.
// https://github.com/alibaba/hybridnet/blob/v0.8.8/charts/hybridnet/values.yaml
type Hybridnet struct {
	NetworkType string `json:"networkType"` // of the network that most pods are in
	ConfName    string `json:"cniConfName"` // the name of its conf, in the conf directory
	Policy      bool   `json:"policy"`      // Felix keeps network policy
}

func (h *Hybridnet) fields() []decode.Field {
	return []decode.Field{
		{Name: "networkType", Set: decode.Choice(&h.NetworkType, "vxlan", "vlan", "bgp")},
		{Name: "cniConfName", Set: decode.Text(&h.ConfName, validConflist)},
		{Name: "policy", Set: decode.Bool(&h.Policy)},
	}
}

func validConflist(s string) string {
	if strings.HasSuffix(s, ".conflist") && decode.ValidConfName(s) == "" {
		return ""
	}
	return "the name of a file, such as 06-hybridnet.conflist"
}

func (n *Node) fillCoil() {
	if c := n.Networking.Coil; c != nil {
		decode.Fill(n.origins, "spec.networking.coil.ipam", document.NodeDefault, &c.IPAM, true)
		decode.Fill(n.origins, "spec.networking.coil.egress", document.NodeDefault, &c.Egress, true)
	}
	if h := n.Networking.Hybridnet; h != nil {
		const at = "spec.networking.hybridnet."
		decode.Fill(n.origins, at+"networkType", document.NodeDefault, &h.NetworkType, "vxlan")
		decode.Fill(n.origins, at+"cniConfName", document.NodeDefault, &h.ConfName, "06-hybridnet.conflist")
		decode.Fill(n.origins, at+"policy", document.NodeDefault, &h.Policy, true)
	}
}

// coil without its two halves is nothing.
func (v *validator) coil() {
	if c := v.node.Networking.Coil; c != nil && !c.IPAM && !c.Egress {
		v.ErrorAt("spec.networking.coil.egress", document.Diagnostic{Summary: "coil neither gives addresses nor takes pods out: ipam and egress are both false", Expected: "one of them true"})
	}
}
