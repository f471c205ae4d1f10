package network

import (
	"slices"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/host"
)

// The links on which kube-proxy and kube-router have the addresses of services in IPVS. A link
// shows which of the two owns the services.
const (
	kubeProxyLink  = "kube-ipvs0"
	kubeRouterLink = "kube-dummy-if"
)

// KubeProxy returns the row of kube-proxy. It is not in [All]: spec.kubeProxy chooses it in
// addition to a network, and no owner on the node removes what its modes leave. Names: pkg/proxy of
// https://github.com/kubernetes/kubernetes, and its own `kube-proxy --cleanup` (CleanupLeftovers of
// iptables, ipvs and nftables). In mode iptables or ipvs, kube-proxy removes at its start what mode
// nftables left, and the reverse. What iptables and ipvs leave to each other, it never removes.
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
		// If a .network file of the host matches any Ethernet link, systemd-networkd would give
		// this link the host's own addresses.
		SharedHost: SharedHost{Links: []string{kubeProxyLink}},
		HealthChecks: []HealthCheck{
			{Text: "its rules follow the API", URL: "http://localhost:10256/healthz"},
		},
		// This is the address of --metrics-bind-address (cmd/kube-proxy/app/server.go,
		// serveMetrics).
		ModeURL: "http://localhost:10249/proxyMode",
		Agents:  []string{"kube-proxy"},
		Modes: []DataplaneMode{
			{Name: "userspace", Residue: proxyUserspace()}, {Name: "iptables", Residue: proxyIPTables()},
			{Name: "ipvs", Residue: proxyIPVS()}, {Name: "nftables", Residue: proxyNFTables()},
		},
		TestedBy: []Proof{
			{"what the real kube-proxy left in iptables and nftables is removed as by its own --cleanup, and not " +
				"while it runs",
				"test/e2e TestKubernetesKubeletProxyModes"},
			{"what it left in mode ipvs is removed on a virtual machine, and what others have in IPVS stays",
				"test/cleanup TestKubernetesKubeProxyByIPVS"},
			{"each thing that one of its modes leaves is removed, and kubelet's chains stay",
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

// ProxyLinks returns the links of [KubeProxy] that the host's link managers must leave alone: if
// the documents choose mode ipvs, and as long as the links exist.
func ProxyLinks(in Input) []string {
	on := in.Node.KubeProxy
	wanted := in.Node.ProxyMode == "ipvs" && (on == nil || *on)
	if wanted || slices.ContainsFunc(in.Facts.Links, func(l host.LinkFact) bool { return l.Name == kubeProxyLink }) {
		return KubeProxy().SharedHost.Links
	}
	return nil
}

// chains returns selectors for the chains of a table. The names may be patterns.
func chains(table string, names ...string) (out []cleanup.ChainSelector) {
	for _, name := range names {
		out = append(out, cleanup.ChainSelector{Table: table, Chain: name})
	}
	return out
}

// hash16 is a pattern for what portProtoHash and servicePortEndpointChainName add to a prefix: 16
// characters of base32.
const hash16 = "????????????????"

// proxyUserspace returns what mode userspace leaves. Source: pkg/proxy/userspace of Kubernetes
// 1.25.
func proxyUserspace() cleanup.Residue {
	return cleanup.Residue{Chains: slices.Concat(
		chains("nat", "KUBE-PORTALS-CONTAINER", "KUBE-PORTALS-HOST", "KUBE-NODEPORT-CONTAINER", "KUBE-NODEPORT-HOST"),
		chains("filter", "KUBE-NODEPORT-NON-LOCAL"))}
}

// proxyIPTables returns what mode iptables leaves. Source: pkg/proxy/iptables,
// cleanupLeftoversForFamily. KUBE-XLB- is the name of KUBE-SVL- up to 1.23. For a chain that mode
// ipvs uses too, comments select the jumps of mode iptables.
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

// proxyIPVS returns what mode ipvs leaves. Source: pkg/proxy/ipvs, cleanupIptablesLeftovers and
// ipsetInfo. kube-proxy's own cleanup removes everything in IPVS. The agent removes only services
// at the addresses of its link, and those whose servers are all pods (node ports), unless the link
// of kube-router has an address.
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

// proxyNFTables returns what mode nftables leaves. Source: pkg/proxy/nftables, CleanupLeftovers.
func proxyNFTables() cleanup.Residue {
	return cleanup.Residue{Tables: []cleanup.TableSelector{{Family: "ip", Name: "kube-proxy"},
		{Family: "ip6", Name: "kube-proxy"}}}
}
