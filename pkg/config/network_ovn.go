package config

import (
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// KubeOVN holds what of Kube-OVN's daemon matters to the node; kOps never had it.
// https://github.com/kubeovn/kube-ovn/blob/v1.16.2/charts/kube-ovn/values.yaml
type KubeOVN struct {
	NetworkType  string `json:"networkType"`         // what carries packets between nodes; vlan is an underlay, without tunnels
	Interface    string `json:"interface,omitempty"` // of an underlay: the link that joins br-<provider>, with its addresses
	MTU          int    `json:"mtu,omitempty"`       // of the pods' links; not said: the link's less the encapsulation
	IPsec        bool   `json:"ipsec,omitempty"`     // encrypts the tunnels between nodes
	TProxy       bool   `json:"tproxy,omitempty"`    // kubelet's probes reach pods in VPCs of their own
	ConfPriority string `json:"cniConfigPriority"`   // the first characters of the conf's name, which say its place among others
}

func (k *KubeOVN) fields() []decode.Field {
	return []decode.Field{
		{Name: "networkType", Set: decode.Choice(&k.NetworkType, "geneve", "vxlan", "stt", "vlan")},
		{Name: "interface", Set: decode.Text(&k.Interface, validLink)},
		{Name: "mtu", Set: decode.AutoMTU(&k.MTU)},
		{Name: "ipsec", Set: decode.Bool(&k.IPsec)},
		{Name: "tproxy", Set: decode.Bool(&k.TProxy)},
		{Name: "cniConfigPriority", Set: decode.Text(&k.ConfPriority, validPriority)},
	}
}

// validLink accepts what the kernel takes for a link's name (net/core/dev.c, dev_valid_name).
func validLink(s string) string {
	if s != "" && len(s) < 16 && s != "." && s != ".." && !strings.ContainsAny(s, "/: \t\n") {
		return ""
	}
	return "the name of a link such as eth1, at most 15 characters"
}

func validPriority(s string) string {
	if len(s) == 2 && s[0] >= '0' && s[0] <= '9' && s[1] >= '0' && s[1] <= '9' {
		return ""
	}
	return `two digits in quotes, such as "01"`
}

// OVNKubernetes holds what of ovnkube matters to the node; kOps never had it.
// https://github.com/ovn-kubernetes/ovn-kubernetes/blob/v1.3.0/helm/ovn-kubernetes/values.yaml
type OVNKubernetes struct {
	// GatewayMode: how pods leave the node: by OVN (shared), by the host's own routes (local), not
	// at all (disabled)
	GatewayMode string `json:"gatewayMode"`
	// Interface: the link that becomes the bridge br<name>, with its addresses; not said: the
	// default route's
	Interface string `json:"gatewayInterface,omitempty"`
	MTU       int    `json:"mtu"`               // of the pods' links
	EncapPort int    `json:"encapPort"`         // of Geneve
	HostOVS   bool   `json:"hostOVS,omitempty"` // Open vSwitch runs on the host, and not in the DaemonSet ovs-node
	IPsec     bool   `json:"ipsec,omitempty"`   // encrypts the tunnels between nodes
}

func (o *OVNKubernetes) fields() []decode.Field {
	return []decode.Field{
		{Name: "gatewayMode", Set: decode.Choice(&o.GatewayMode, "shared", "local", "disabled")},
		{Name: "gatewayInterface", Set: decode.Text(&o.Interface, validLink)},
		{Name: "mtu", Set: decode.MTU(&o.MTU)},
		{Name: "encapPort", Set: decode.Port(&o.EncapPort)},
		{Name: "hostOVS", Set: decode.Bool(&o.HostOVS)},
		{Name: "ipsec", Set: decode.Bool(&o.IPsec)},
	}
}

func (n *Node) fillOVN() {
	if k := n.Networking.KubeOVN; k != nil {
		decode.Fill(n.origins, "spec.networking.kubeOVN.networkType", document.NodeDefault, &k.NetworkType, "geneve")
		decode.Fill(n.origins, "spec.networking.kubeOVN.cniConfigPriority", document.NodeDefault, &k.ConfPriority, "01")
	}
	if o := n.Networking.OVNKubernetes; o != nil {
		decode.Fill(n.origins, "spec.networking.ovnKubernetes.gatewayMode", document.NodeDefault, &o.GatewayMode, "shared")
		decode.Fill(n.origins, "spec.networking.ovnKubernetes.mtu", document.NodeDefault, &o.MTU, 1400)
		decode.Fill(n.origins, "spec.networking.ovnKubernetes.encapPort", document.NodeDefault, &o.EncapPort, 6081)
	}
}

func (v *validator) ovn() {
	if k := v.node.Networking.KubeOVN; k != nil {
		switch {
		case k.NetworkType == "vlan" && k.Interface == "":
			v.ErrorAt("spec.networking.kubeOVN.interface", document.Diagnostic{Summary: "an underlay (networkType vlan) is on a link of the node, and none is named", Expected: "interface: the link that joins the bridge, such as eth1"})
		case k.NetworkType != "vlan" && k.Interface != "":
			v.ErrorAt("spec.networking.kubeOVN.interface", document.Diagnostic{Summary: fmt.Sprintf("interface is for an underlay (networkType vlan), and networkType is %s", k.NetworkType), Hint: "take it out, or set networkType: vlan"})
		case k.IPsec && k.NetworkType == "vlan":
			v.ErrorAt("spec.networking.kubeOVN.ipsec", document.Diagnostic{Summary: "IPsec is between tunnels' ends, and an underlay has no tunnels", Expected: "networkType: geneve, vxlan or stt"})
		}
	}
	if o := v.node.Networking.OVNKubernetes; o != nil && o.GatewayMode == "disabled" && o.Interface != "" {
		v.ErrorAt("spec.networking.ovnKubernetes.gatewayInterface", document.Diagnostic{Summary: "a gateway interface is named, and gatewayMode is disabled", Hint: "take one of them out"})
	}
}
