package networks

import (
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// KubeOVN has the settings of Kube-OVN's daemon that matter to the node. kOps never had this
// network. https://github.com/kubeovn/kube-ovn/blob/v1.16.2/charts/kube-ovn/values.yaml
type KubeOVN struct {
	// NetworkType: Sets what carries packets between nodes. vlan is an underlay, without tunnels.
	NetworkType string `json:"networkType"`
	// Interface: Names the link of an underlay that joins br-<provider>, with its addresses.
	// networkType vlan needs it, and no other type takes it.
	Interface string `json:"interface,omitempty"`
	// MTU: Says the MTU of the pods' links in bytes. Without it or with 0, the MTU is that of the
	// node's link less the encapsulation. Only the DaemonSet sets it.
	MTU int `json:"mtu,omitempty"`
	// IPsec: true encrypts the tunnels between nodes.
	IPsec bool `json:"ipsec,omitempty"`
	// TProxy: true lets kubelet's probes reach pods in VPCs of their own.
	TProxy bool `json:"tproxy,omitempty"`
	// ConfPriority: Sets the first characters of the conf's name, which decide its place among
	// other confs.
	ConfPriority string `json:"cniConfigPriority"`
}

func (k *KubeOVN) fields() []decode.Field {
	return []decode.Field{
		decode.Choice("networkType", &k.NetworkType, "geneve", "vxlan", "stt", "vlan").Default("geneve"),
		decode.Text("interface", &k.Interface, validLink),
		decode.AutoMTU("mtu", &k.MTU),
		decode.Bool("ipsec", &k.IPsec),
		decode.Bool("tproxy", &k.TProxy),
		decode.Text("cniConfigPriority", &k.ConfPriority, validPriority).Default("01"),
	}
}

// validLink accepts the names that the kernel accepts for a link (net/core/dev.c, dev_valid_name).
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

func (k *KubeOVN) check(s *ClusterSettings, r *decode.Reporter) {
	s.checkMTU(r, "spec.networking.kubeOVN.mtu", k.MTU, 0)
	switch {
	case k.NetworkType == "vlan" && k.Interface == "":
		r.ErrorAt("spec.networking.kubeOVN.interface",
			document.Diagnostic{Summary: "an underlay (networkType vlan) is on a link of the node, and none is named",
				Expected: "interface: the link that joins the bridge, such as eth1"})
	case k.NetworkType != "vlan" && k.Interface != "":
		r.ErrorAt("spec.networking.kubeOVN.interface",
			document.Diagnostic{Summary: fmt.Sprintf("interface is for an underlay (networkType vlan), and "+
				"networkType is %s", k.NetworkType), Hint: "take it out, or set networkType: vlan"})
	case k.IPsec && k.NetworkType == "vlan":
		r.ErrorAt("spec.networking.kubeOVN.ipsec",
			document.Diagnostic{Summary: "IPsec is between tunnels' ends, and an underlay has no tunnels",
				Expected: "networkType: geneve, vxlan or stt"})
	}
}
