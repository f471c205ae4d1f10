package networks

import (
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Azure has the fields of Azure's CNI plugin. kOps never had this network.
// https://github.com/Azure/azure-container-networking (cni, cns/configuration)
type Azure struct {
	// Scenario: nodeSubnet gives pods addresses of the node's own interface, without a daemon. The
	// other values belong to the daemon CNS (its CNIConflistScenario).
	Scenario string `json:"scenario"`
	// Mode: Sets the mode of the plugin on a node subnet: transparent (routes), or bridge (azure0,
	// which takes the interface's addresses).
	Mode string `json:"mode"`
	// IPsToRouteViaHost: Lists addresses that pods reach through the node although they are on a
	// link of their own, such as the address of a node-local DNS.
	IPsToRouteViaHost []string `json:"ipsToRouteViaHost,omitempty"`
}

func (a *Azure) fields() []decode.Field {
	return []decode.Field{
		decode.Choice("scenario", &a.Scenario, "nodeSubnet", "swift", "v4overlay", "overlay",
			"dualStackOverlay", "cilium", "azurecni-chained-cilium").Default("nodeSubnet"),
		decode.Choice("mode", &a.Mode, "transparent", "bridge").Default("transparent"),
		decode.Texts("ipsToRouteViaHost", &a.IPsToRouteViaHost, decode.ValidIPv4),
	}
}

func (a *Azure) check(_ *ClusterSettings, r *decode.Reporter) {
	if a.Scenario == "nodeSubnet" {
		return
	}
	for _, name := range [...]string{"mode", "ipsToRouteViaHost"} {
		if at := "spec.networking.azure." + name; r.Origin(at).File != "" {
			r.ErrorAt(at, document.Diagnostic{Summary: name +
				" is of the conf that we write on a node subnet; in scenario " + a.Scenario + " CNS writes it",
				Hint: "take it out, or set scenario: nodeSubnet"})
		}
	}
}
