package network

import "github.com/netwright/netwright/pkg/cleanup"

// kindnet returns the row of Kindnet. Netwright prepares the node and waits for the conf, which
// kindnetd writes when the node has pod CIDRs. Its one plugin also assigns addresses and publishes
// host ports. Source: https://github.com/kubernetes-sigs/kindnet (pkg/node/cni.go, pkg/masq,
// pkg/fastpath, pkg/network).
func kindnet() Network {
	return Network{
		Title:     "routes between nodes of one network, by a DaemonSet; nftables only, policy by nfqueue",
		Docs:      "https://kindnet.sigs.k8s.io/",
		Lifecycle: Lifecycle{Stages: []Stage{{Level: Experimental, Kops: "1.32"}}},
		Conf: byDaemonSet("10-kindnet.conflist", "cni-kindnet").awaited(
			"its DaemonSet writes it when the node has a pod CIDR"),
		// The init container installs cni-kindnet, which calls no other plugin. The runtime calls
		// loopback for each pod.
		Plugins: []Plugin{reference("v0.8.0", "loopback")},
		Modules: []Module{
			// kOps loads this module, and not br_netfilter (upup/pkg/fi/nodeup/command.go).
			{Name: "nfnetlink_queue", Why: "policy decides in the daemon"},
			{Name: "nf_tables", Why: "masquerade and policy", Optional: true},
			{Name: "nft_flow_offload", Why: "the flow table kindnet-flowtables", Optional: true,
				Case: Case{"fastPathThreshold",
					func(in Input) bool { return in.Node.Networking.Kindnet.FastPathThreshold > 0 }}},
		},
		Sysctls: append(forwarding(),
			Sysctl{Key: "net.netfilter.nf_conntrack_acct", Value: "1", Why: "kindnetd counts by it", Optional: true},
			Sysctl{Key: "net.netfilter.nf_conntrack_timestamp", Value: "1", Why: "kindnetd ages by it",
				Optional: true}),
		Kubeconfig: "none on the host: its DaemonSet uses the service account, and the API's URL, since services need " +
			"kube-proxy first",
		MTU:        "that of the link with the default route",
		IPv6:       true,
		SharedHost: ownLinks("knet*"),
		HealthChecks: []HealthCheck{{Text: "kindnetd has its rules for what leaves the node",
			Table: "inet kindnet-ipmasq",
			Case:  Case{"pods have IPv4, unless masquerade is off", kindnetMasquerades},
			Missing: "pods reach nothing outside: kindnetd does not run, or firewalld removed " +
				"its table (restart its pod)"},
			podSign("knet*", "veth")},
		Residue: cleanup.Residue{
			Links: []cleanup.LinkSelector{{Name: "knet*", Kind: "veth"}, {Name: "knet-xfrm0", Kind: "xfrm"}},
			Rules: []cleanup.RuleSelector{{Table: 101, Mark: 13}, {Table: 101, Mark: 14}}, // for NAT64
			// The routes lead to the pod CIDR of another node through that node's address. Routes
			// to pods of this node disappear with their links.
			Routes: []cleanup.RouteSelector{{Pods: true, Protocol: protocolBoot, Type: "unicast", Via: true}},
			Tables: []cleanup.TableSelector{{Family: "inet", Name: "kindnet-ipmasq"},
				{Family: "inet", Name: "kindnet-nflog"}, {Family: "inet", Name: "kindnet-fastpath"},
				{Family: "inet", Name: "kindnet-dnscache"}, {Family: "inet", Name: "kindnet-network-policies"},
				{Family: "inet", Name: "cni-kindnet"}, {Family: "ip6", Name: "kindnet-nat64"}},
			XFRM: []cleanup.XFRMSelector{{IfID: 1001}}, // from --ipsec-overlay
			Files: []string{"/opt/cni/bin/cni-kindnet", "/var/lib/cni-kindnet/",
				"/var/lib/cni/results/kindnet-*"},
		},
		Untested: "that pods reach each other: no test builds its plugin, because its module is not available " +
			"through the module proxy",
		Agents: []string{"kindnet-cni"},
	}
}

// kindnetMasquerades reports whether kindnetd masquerades. In kOps it does, unless a document
// switches it off or pods have IPv6 (pkg/model/components/kindnet.go).
func kindnetMasquerades(in Input) bool {
	m := in.Node.Networking.Kindnet.Masquerade
	return in.V4 && !in.V6 && (m == nil || m.Enabled == nil || *m.Enabled)
}
