package networks

import (
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Antrea has the fields of antrea-agent.conf that matter to the node, by Antrea's own names. kOps
// never had this network. https://github.com/antrea-io/antrea/blob/v2.7.0/docs/configuration.md
type Antrea struct {
	// TrafficEncapMode: Sets what carries pods' packets between nodes: tunnels (encap), routes
	// (noEncap), routes within a segment (hybrid), or another network (networkPolicyOnly).
	TrafficEncapMode string `json:"trafficEncapMode"`
	// TunnelType: Sets the type of tunnel of the modes encap and hybrid.
	TunnelType string `json:"tunnelType"`
	// TrafficEncryptionMode: Sets what encrypts packets between nodes. Only trafficEncapMode encap
	// can encrypt.
	TrafficEncryptionMode string `json:"trafficEncryptionMode"`
	// ProxyAll: true means that Antrea serves all services in place of kube-proxy.
	ProxyAll bool `json:"proxyAll,omitempty"`
	// DefaultMTU: Says the MTU of the pods' links in bytes. Without it or with 0, the MTU is that
	// of the node's link less the encapsulation. Only the DaemonSet sets it.
	DefaultMTU int `json:"defaultMTU,omitempty"`
	// SecondaryNetwork: true means that Antrea bridges a link of the node for VLANs of pods.
	SecondaryNetwork bool `json:"secondaryNetwork,omitempty"`
}

// Tunnels reports whether nodes talk to each other through Open vSwitch's tunnels.
func (a *Antrea) Tunnels() bool {
	return (a.TrafficEncapMode == "encap" || a.TrafficEncapMode == "hybrid") && !a.WireGuard()
}

// WireGuard reports whether nodes talk to each other through WireGuard instead of a tunnel.
func (a *Antrea) WireGuard() bool { return a.TrafficEncryptionMode == "wireGuard" }

func (a *Antrea) fields() []decode.Field {
	return []decode.Field{
		decode.Choice("trafficEncapMode", &a.TrafficEncapMode, "encap", "noEncap", "hybrid", "networkPolicyOnly").
			Default("encap"),
		decode.Choice("tunnelType", &a.TunnelType, "geneve", "vxlan", "gre", "stt").Default("geneve"),
		decode.Choice("trafficEncryptionMode", &a.TrafficEncryptionMode, "none", "wireGuard", "ipsec").Default("none"),
		decode.Bool("proxyAll", &a.ProxyAll),
		decode.AutoMTU("defaultMTU", &a.DefaultMTU),
		decode.Bool("secondaryNetwork", &a.SecondaryNetwork),
	}
}

// check refuses what Antrea's agent refuses when it starts (cmd/antrea-agent/options.go).
func (a *Antrea) check(s *ClusterSettings, r *decode.Reporter) {
	s.checkMTU(r, "spec.networking.antrea.defaultMTU", a.DefaultMTU, 0)
	const at = "spec.networking.antrea."
	switch encrypts := a.TrafficEncryptionMode != "none"; {
	case encrypts && a.TrafficEncapMode != "encap":
		r.ErrorAt(at+"trafficEncryptionMode",
			document.Diagnostic{Summary: "antrea encrypts between nodes in encap mode only, and trafficEncapMode is " +
				a.TrafficEncapMode, Expected: "trafficEncapMode: encap, or trafficEncryptionMode: none"})
	case a.TrafficEncryptionMode == "ipsec" && r.Origin(at+"tunnelType").File != "" && a.TunnelType != "gre":
		r.ErrorAt(at+"tunnelType", document.Diagnostic{Summary: "antrea's IPsec goes over GRE, and the tunnel is " +
			a.TunnelType, Expected: "gre"})
	case a.TrafficEncapMode != "encap" && a.TrafficEncapMode != "hybrid" && r.Origin(at+"tunnelType").File != "":
		r.WarnAt(at+"tunnelType", document.Diagnostic{Summary: "with trafficEncapMode " + a.TrafficEncapMode +
			" there is no tunnel: tunnelType does nothing"})
	}
}
