package network

import (
	"slices"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/host"
)

// Where programs that serve services by IPVS have their addresses: whose the services are.
const (
	kubeProxyLink  = "kube-ipvs0"
	kubeRouterLink = "kube-dummy-if"
)

// KubeProxy is a row of its own: it is chosen beside a network, by spec.kubeProxy, and nobody on
// the node owns what its modes leave. Its names: pkg/proxy of
// https://github.com/kubernetes/kubernetes, and its own `kube-proxy --cleanup` (CleanupLeftovers of
// iptables, ipvs and nftables there). Started in iptables or ipvs it takes away what nftables left,
// and the reverse; what iptables and ipvs leave to each other it never does.
func KubeProxy() Network {
	n := Network{
		Name:   "kubeProxy",
		Title:  "kube-proxy, which makes the services of a node beside a network that does not",
		Docs:   "https://kubernetes.io/docs/reference/networking/virtual-ips/",
		Chosen: "spec:\n  kubeProxy: {enabled: true, proxyMode: nftables}",
		Conf:   Conf{Writer: WriterNone},
		Lifecycle: Lifecycle{Stages: []Stage{{Level: Stable}}, Note: "userspace ended with Kubernetes 1.26, nftables began with 1.29; " +
			"who starts kube-proxy sets its mode (--proxy-mode), and the documents say which one it is to be"},
		IPv6: true,
		Modules: []Module{
			{Name: "nf_conntrack", Why: "its rules follow connections", Optional: true},
		},
		// networkd would give it the host's own addresses where it matches any Ethernet link
		SharedHost: SharedHost{Links: []string{kubeProxyLink}},
		HealthChecks: []HealthCheck{
			{Text: "its rules follow the API", URL: "http://localhost:10256/healthz"},
		},
		// --metrics-bind-address (cmd/kube-proxy/app/server.go, serveMetrics).
		ModeURL: "http://localhost:10249/proxyMode",
		Agents:  []string{"kube-proxy"},
		Modes: []DataplaneMode{
			{Name: "userspace", Residue: proxyUserspace()}, {Name: "iptables", Residue: proxyIPTables()},
			{Name: "ipvs", Residue: proxyIPVS()}, {Name: "nftables", Residue: proxyNFTables()},
		},
		TestedBy: []Proof{
			{"what the real kube-proxy left in iptables and nftables goes as by its own --cleanup, and not while it runs",
				"test/e2e TestKubernetesKubeletProxyModes"},
			{"what it left in mode ipvs goes on a virtual machine, and what others have in IPVS stays",
				"test/cleanup TestKubernetesKubeProxyByIPVS"},
			{"each thing that one of its modes leaves goes, and kubelet's chains stay",
				"test/cleanup TestKubeProxyLeavesNothingInANode"},
		},
		Residue: cleanup.Residue{Others: []string{
			"chain KUBE-MARK-MASQ of nat, which only marks packets: kubelets below 1.28 have it too, and plugin portmap " +
				"may be told to use it (externalSetMarkChain)",
			"kubelet's own chains: KUBE-FIREWALL, KUBE-KUBELET-CANARY, KUBE-IPTABLES-HINT",
			"connections that it has let through, in conntrack",
			"sysctls of mode ipvs: net.ipv4.vs.*, and with strictARP arp_ignore and arp_announce",
		}},
	}
	for i := range n.Modes {
		name := n.Modes[i].Name
		n.Modes[i].Of = "proxyMode"
		n.Modes[i].If = func(in Input) bool {
			on := in.Node.KubeProxy
			return (on == nil || *on) && (in.Node.ProxyMode == name || in.Node.ProxyMode == "")
		}
	}
	return n.withModes()
}

// ProxyLinks are the links of [KubeProxy] that what sets links up for the host leaves alone: where
// the documents say its mode ipvs, and as long as they are there.
func ProxyLinks(in Input) []string {
	on := in.Node.KubeProxy
	wanted := in.Node.ProxyMode == "ipvs" && (on == nil || *on)
	if wanted || slices.ContainsFunc(in.Facts.Links, func(l host.LinkFact) bool { return l.Name == kubeProxyLink }) {
		return KubeProxy().SharedHost.Links
	}
	return nil
}

// chains are those of a table, each by its whole name but for patterns.
func chains(table string, names ...string) (out []cleanup.ChainSelector) {
	for _, name := range names {
		out = append(out, cleanup.ChainSelector{Table: table, Chain: name})
	}
	return out
}

// hash16 stands for what portProtoHash and servicePortEndpointChainName put behind a prefix: 16
// characters of base32.
const hash16 = "????????????????"

// proxyUserspace: pkg/proxy/userspace, as of Kubernetes 1.25.
func proxyUserspace() cleanup.Residue {
	return cleanup.Residue{Chains: slices.Concat(
		chains("nat", "KUBE-PORTALS-CONTAINER", "KUBE-PORTALS-HOST", "KUBE-NODEPORT-CONTAINER", "KUBE-NODEPORT-HOST"),
		chains("filter", "KUBE-NODEPORT-NON-LOCAL"))}
}

// proxyIPTables: pkg/proxy/iptables, cleanupLeftoversForFamily; KUBE-XLB- is what KUBE-SVL- was
// called up to 1.23. Of chains that mode ipvs has too its own jumps go by their comments.
func proxyIPTables() cleanup.Residue {
	return cleanup.Residue{Chains: slices.Concat(
		chains("nat", "KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-POSTROUTING", "KUBE-PROXY-CANARY",
			"KUBE-SVC-"+hash16, "KUBE-SVL-"+hash16, "KUBE-XLB-"+hash16, "KUBE-SEP-"+hash16, "KUBE-FW-"+hash16,
			"KUBE-EXT-"+hash16),
		chains("filter", "KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES", "KUBE-FORWARD", "KUBE-NODEPORTS",
			"KUBE-PROXY-FIREWALL", "KUBE-PROXY-CANARY"),
		chains("mangle", "KUBE-PROXY-CANARY"),
		[]cleanup.ChainSelector{{Table: "filter", Comment: "kubernetes load balancer firewall",
			Target: "KUBE-PROXY-FIREWALL"}})}
}

// proxyIPVS: pkg/proxy/ipvs, cleanupIptablesLeftovers and ipsetInfo. Its own clean-up flushes all
// of IPVS; here go services at the addresses of its link, and at node ports, which lead to pods
// alone, unless kube-router has them.
func proxyIPVS() cleanup.Residue {
	l := cleanup.Residue{
		Links: []cleanup.LinkSelector{{Name: kubeProxyLink, Kind: "dummy"}},
		IPVS: []cleanup.IPVSSelector{{Link: kubeProxyLink, Unless: kubeRouterLink},
			{Pods: true, Unless: kubeRouterLink}},
		Chains: slices.Concat(
			chains("nat", "KUBE-SERVICES", "KUBE-POSTROUTING", "KUBE-NODE-PORT", "KUBE-LOAD-BALANCER"),
			chains("filter", "KUBE-FORWARD", "KUBE-NODE-PORT", "KUBE-PROXY-FIREWALL", "KUBE-SOURCE-RANGES-FIREWALL",
				"KUBE-IPVS-FILTER", "KUBE-IPVS-OUT-FILTER"),
			[]cleanup.ChainSelector{{Table: "filter", Comment: "kube-proxy firewall rules",
				Target: "KUBE-PROXY-FIREWALL"}}),
	}
	for _, set := range []string{"LOOP-BACK", "CLUSTER-IP", "EXTERNAL-IP", "EXTERNAL-IP-LOCAL", "LOAD-BALANCER",
		"LOAD-BALANCER-LOCAL", "LOAD-BALANCER-FW", "LOAD-BALANCER-SOURCE-IP", "LOAD-BALANCER-SOURCE-CIDR",
		"NODE-PORT-TCP", "NODE-PORT-LOCAL-TCP", "NODE-PORT-UDP", "NODE-PORT-LOCAL-UDP", "NODE-PORT-SCTP-HASH",
		"NODE-PORT-LOCAL-SCTP-HASH", "HEALTH-CHECK-NODE-PORT", "IPVS-IPS"} {
		six := "KUBE-6-" + set // pkg/proxy/ipvs/ipset.go, NewIPSet; the kernel takes 31 characters
		l.IPSets = append(l.IPSets, "KUBE-"+set, six[:min(len(six), 31)])
	}
	return l
}

// proxyNFTables: pkg/proxy/nftables, CleanupLeftovers.
func proxyNFTables() cleanup.Residue {
	return cleanup.Residue{Tables: []cleanup.TableSelector{{Family: "ip", Name: "kube-proxy"},
		{Family: "ip6", Name: "kube-proxy"}}}
}
