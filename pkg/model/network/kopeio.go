package network

import (
	"fmt"

	"github.com/netwright/netwright/pkg/cleanup"
)

// kopeio returns the row of kubenet's conf_template with an agent in the cluster that makes the
// routes between nodes instead of the cloud. The agent uses VXLAN, or GRE, IPsec or no tunnel if it
// is configured so. Sources: https://github.com/kopeio/networking (pkg/routing), kOps' template
// (networking.kope.io).
func kopeio() Network {
	n := kubenet()
	n.Title = "containerd's conf_template; a DaemonSet makes routes between nodes, in its defaults by VXLAN"
	n.Docs = "https://github.com/kopeio/networking"
	n.Lifecycle = Lifecycle{Stages: []Stage{{Level: Experimental, Kops: "1.5"}}, First: version(1, 4),
		Upstream: "asleep (its image is of 2018, its last commit of March 2024)", Instead: "kindnet, flannel or cilium"}
	n.Modules = append(n.Modules,
		Module{Name: "vxlan", Why: "vxlan1, in its default mode"},
		Module{Name: "ip_gre", Why: "its mode gre", Optional: true})
	n.Kubeconfig = "none on the host: its DaemonSet uses the service account"
	n.Ports = []Port{{"udp", 4789, "VXLAN"}, {"ip", 47, "mode gre"},
		{"udp", 4500, "mode ipsec"}}
	n.MTU = fmt.Sprintf("the smallest MTU of the links that are up less %d, as its vxlan1", kopeioOverhead)
	n.SharedHost = ownLinks("vxlan1", "k8s-*", "veth*").macs("vxlan1")
	n.HealthChecks = append(n.HealthChecks, HealthCheck{Text: "its tunnel", Link: "vxlan1", Kind: "vxlan",
		Missing: "its agent does not run on this node, or in another mode: then the node stays NetworkUnavailable"})
	n.Residue = kopeioResidue(n.Residue)
	n.TestedBy, n.SafeToReplace = nil, ""   // the cloud makes kubenet's routes, but a daemon makes these
	n.Agents = []string{"networking-agent"} // k8s/kopeio-networking.yaml
	n.Build = buildKopeio
	return n
}

// kopeioOverhead is what kopeio's agent subtracts from the smallest MTU of eth* and en* for vxlan1
// (pkg/routing/vxlan). The encapsulation itself needs 50.
const kopeioOverhead = 100

// kopeioResidue adds what kopeio leaves. The MAC address of its vxlan1 begins with 00:53, and its
// IP address is that of the pod CIDR. These identify it among links with the same name.
func kopeioResidue(l cleanup.Residue) cleanup.Residue {
	l.Routes = append(l.Routes, cleanup.RouteSelector{Link: "vxlan1", Pods: true},
		cleanup.RouteSelector{Link: "k8s-*-*-*-*", Pods: true})
	l.Links = append(l.Links, cleanup.LinkSelector{Name: "vxlan1", Kind: "vxlan", MAC: "00:53:*"},
		cleanup.LinkSelector{Name: "k8s-??-??-??-??", Kind: "gre"},
		cleanup.LinkSelector{Name: "kopeio", Kind: "bridge"})
	l.Others = []string{"ebtables: chain KUBE-DEDUP of table filter and the jump to it in OUTPUT, where kubelet " +
		"called the plugins", "a conf at the cniConfigPath of its configuration",
		"mode ipsec: its XFRM states and policies, which have no mark; it flushes those of everybody when it starts"}
	return l
}

func buildKopeio(in Input, b *Built) error {
	if in.DockerKubelet() {
		b.KubeletPlugin = "kubenet"
		return nil
	}
	mtu, err := LinkMTU(in.Facts.Links, append(podLinks(in), "vxlan1")...)
	if err != nil {
		return fmt.Errorf("lay out kopeio for this node: %w", err)
	}
	return b.addTemplate(in, mtu-kopeioOverhead)
}
