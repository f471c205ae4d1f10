package networks

import (
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
)

// Hybridnet has the settings of hybridnet's daemon that matter to the node. kOps never had this
// network. https://github.com/alibaba/hybridnet/blob/v0.8.8/charts/hybridnet/values.yaml
type Hybridnet struct {
	// NetworkType: Sets the type of the network that most pods are in.
	NetworkType string `json:"networkType"`
	// ConfName: Sets the name of the conf in the conf directory.
	ConfName string `json:"cniConfName"`
	// Policy: true means that Felix enforces network policy.
	Policy bool `json:"policy"`
}

func (h *Hybridnet) fields() []decode.Field {
	return []decode.Field{
		decode.Choice("networkType", &h.NetworkType, "vxlan", "vlan", "bgp").Default("vxlan"),
		decode.Text("cniConfName", &h.ConfName, validConflist).Default("06-hybridnet.conflist"),
		decode.Bool("policy", &h.Policy).Default(true),
	}
}

func validConflist(s string) string {
	if strings.HasSuffix(s, ".conflist") && decode.ValidConfName(s) == "" {
		return ""
	}
	return "the name of a file, such as 06-hybridnet.conflist"
}
