package networks

import (
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Hybridnet holds what of its daemon matters to the node; kOps never had it.
// https://github.com/alibaba/hybridnet/blob/v0.8.8/charts/hybridnet/values.yaml
type Hybridnet struct {
	NetworkType string `json:"networkType"` // of the network that most pods are in
	ConfName    string `json:"cniConfName"` // the name of its conf, in the conf directory
	Policy      bool   `json:"policy"`      // Felix keeps network policy
}

func (h *Hybridnet) fields() []decode.Field {
	return []decode.Field{
		decode.Choice("networkType", &h.NetworkType, "vxlan", "vlan", "bgp"),
		decode.Text("cniConfName", &h.ConfName, validConflist),
		decode.Bool("policy", &h.Policy),
	}
}

func validConflist(s string) string {
	if strings.HasSuffix(s, ".conflist") && decode.ValidConfName(s) == "" {
		return ""
	}
	return "the name of a file, such as 06-hybridnet.conflist"
}

func (h *Hybridnet) fill(_ *ClusterSettings, o decode.Origins) {
	const at = "spec.networking.hybridnet."
	decode.Fill(o, at+"networkType", document.NodeDefault, &h.NetworkType, "vxlan")
	decode.Fill(o, at+"cniConfName", document.NodeDefault, &h.ConfName, "06-hybridnet.conflist")
	decode.Fill(o, at+"policy", document.NodeDefault, &h.Policy, true)
}
