package networks

import (
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// OVNKubernetes has the settings of ovnkube that matter to the node. kOps never had this network.
// https://github.com/ovn-kubernetes/ovn-kubernetes/blob/v1.3.0/helm/ovn-kubernetes/values.yaml
type OVNKubernetes struct {
	// GatewayMode: Sets how pods leave the node: through OVN (shared), by the host's own routes
	// (local), or not at all (disabled).
	GatewayMode string `json:"gatewayMode"`
	// Interface: Names the link that becomes the bridge br<name>, with its addresses. The default
	// is the link of the default route.
	Interface string `json:"gatewayInterface,omitempty"`
	// MTU: Says the MTU of the pods' links in bytes. Only the DaemonSet sets it.
	MTU int `json:"mtu"`
	// EncapPort: Sets the UDP port of Geneve.
	EncapPort int `json:"encapPort"`
	// HostOVS: true means that Open vSwitch runs on the host, and not in the DaemonSet ovs-node.
	HostOVS bool `json:"hostOVS,omitempty"`
	// IPsec: true encrypts the tunnels between nodes.
	IPsec bool `json:"ipsec,omitempty"`
}

func (o *OVNKubernetes) fields() []decode.Field {
	return []decode.Field{
		decode.Choice("gatewayMode", &o.GatewayMode, "shared", "local", "disabled").Default("shared"),
		decode.Text("gatewayInterface", &o.Interface, validLink),
		decode.MTU("mtu", &o.MTU).Default(1400),
		decode.Port("encapPort", &o.EncapPort).Default(6081),
		decode.Bool("hostOVS", &o.HostOVS),
		decode.Bool("ipsec", &o.IPsec),
	}
}

func (o *OVNKubernetes) check(s *ClusterSettings, r *decode.Reporter) {
	s.checkMTU(r, "spec.networking.ovnKubernetes.mtu", o.MTU, 0)
	if o.GatewayMode == "disabled" && o.Interface != "" {
		r.ErrorAt("spec.networking.ovnKubernetes.gatewayInterface",
			document.Diagnostic{Summary: "a gateway interface is named, and gatewayMode is disabled",
				Hint: "take one of them out"})
	}
}
