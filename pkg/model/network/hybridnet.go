package network

import "github.com/netwright/netwright/pkg/cleanup"

// hybridnet returns the row of Hybridnet. Netwright prepares the node and waits for the conf, which
// the init container writes. Sources: https://github.com/alibaba/hybridnet v0.8.8 (dist/images,
// pkg/constants, pkg/daemon, charts/hybridnet).
func hybridnet() Network {
	return Network{
		Title: "VXLAN overlay beside VLANs or BGP of the data centre, pods keep their addresses; by a DaemonSet, " +
			"policy by Felix",
		Docs: "https://github.com/alibaba/hybridnet/wiki",
		Lifecycle: Lifecycle{First: version(1, 16), Upstream: "asleep (last commit in July 2024)",
			Instead: "kubeOVN or calico"},
		Conf:    byDaemonSet("06-hybridnet.conflist", "hybridnet", "bandwidth"),
		Plugins: []Plugin{reference("v0.8.0", "bandwidth", "loopback")}, // its init container installs hybridnet
		Modules: []Module{
			{Name: "vxlan", Why: "the overlay, which nodes of a VLAN reach too"},
			{Name: "8021q", Why: "pods in VLANs", Case: hybridnetType("vlan")},
			{Name: "ip_set", Why: "its rules and policy"}, {Name: "xt_set", Why: "its rules and policy"},
			{Name: "sch_prio", Why: "its filter on the VXLAN link", Optional: true},
			{Name: "cls_u32", Why: "its filter", Optional: true},
			{Name: "act_pedit", Why: "rewrites MAC addresses", Optional: true},
		},
		Sysctls: append(forwarding(),
			Sysctl{Key: "net.ipv4.conf.all.rp_filter", Value: "0",
				Why: "answers leave by another table than questions come", Case: withIPv4},
			Sysctl{Key: "net.ipv4.conf.default.rp_filter", Value: "0", Why: "the same for links to come",
				Case: withIPv4},
			Sysctl{Key: "net.ipv4.neigh.default.gc_thresh3", Value: "4096",
				Why: "a neighbour for every pod of the overlay", Optional: true},
			Sysctl{Key: "net.ipv4.neigh.default.gc_thresh2", Value: "2048",
				Why: "a neighbour for every pod of the overlay", Optional: true}),
		Kubeconfig: "none on the host: its DaemonSet uses the service account",
		Ports: []Port{
			{"udp", 8472, "VXLAN, as flannel's and cilium's: one of them a node"},
			{"tcp", 179, "BGP"}, {"tcp", 5473, "Typha"},
			{"tcp", 11021, "health of its daemon"}, {"tcp", 9899, "its manager"},
		},
		MTU:        "that of the node's own link, less 50 in the overlay",
		IPv6:       true,
		SharedHost: ownLinks("hybr*", "*.vxlan*").macs("hybr*", "*.vxlan*"),
		HealthChecks: []HealthCheck{
			{Text: "its daemon answers the plugin", Path: "/run/cni/hybridnet.sock"},
			// This is the address of --health-probe-addr. The DaemonSet's own probes use it too
			// (charts/hybridnet).
			{Text: "its daemon is alive", URL: "http://localhost:11021/live",
				Missing: "its daemon does not run here: its log says why"},
			{Text: "the overlay's link", Link: "*.vxlan*", Kind: "vxlan", Case: hybridnetType("vxlan"),
				Missing: "flannel.1 or cilium_vxlan uses UDP port 8472, or preferVxlanInterfaces names no link of " +
					"this node"},
			podSign("hybr*", "veth"),
		},
		Untestable: []Untestable{{Why: "Hybridnet's manager gives addresses to the API's Pods: its plugin refuses a " +
			"pod that the API does not know",
			Instead: apiPods, Source: "https://github.com/alibaba/hybridnet/blob/v0.8.8/pkg/daemon/server/handle.go"}},
		Residue: hybridnetResidue(),
		TestedBy: []Proof{{"its plugin supports the version of the conf that its installer writes, and reads the " +
			"conf",
			"test/plugins TestPlugins"},
			{"pods of two nodes reach each other in the nodes' VLAN with its real daemon, manager and plugin, " +
				"beside a real API; verify names the sign of life that is missing", "test/e2e TestKubernetesPodsTalk"},
			{"a switch to another network removes all that its daemon made for pods of the nodes' VLAN, except " +
				"what is said to stay",
				"test/cleanup TestKubernetesDaemonsLeaveNothing"}},
		Untested: "the overlay: its VXLAN link needs a prio qdisc and the action pedit, which the kernel of the " +
			"tests does not have; and policy: no test runs Felix, which is Calico's, beside it",
		Agents: []string{"cni-daemon", "felix"},
		Build:  buildHybridnet,
	}
}

func hybridnetType(kind string) Case {
	return Case{"networkType " + kind,
		func(in Input) bool { return in.Node.Networking.Hybridnet.NetworkType == kind }}
}

// hybridnetResidue returns what Hybridnet leaves. Its rules lead to the tables from 10000 on, one
// for each subnet. Without the rules the kernel does not use these tables. Its tc filter disappears
// with the VXLAN link.
func hybridnetResidue() cleanup.Residue {
	l := cleanup.Residue{
		// The rules are for every packet, for PodToNodeBackTrafficMark, and for packets from a
		// subnet without fromRuleMask (pkg/daemon/route). Their priorities are the first free ones.
		Rules: []cleanup.RuleSelector{{Table: 39999, All: true}, {Table: 40000, All: true},
			{Mark: 0x20, Mask: 0x20, Table: 40001}, {Mask: 0x4040, Table: 10000, Last: 39998},
			{Table: 10000, Last: 39998, Pods: true}},
		// The routes to pods of this node use their links, those to the overlay use its VXLAN link,
		// and those to a subnet use the node's link.
		Routes: []cleanup.RouteSelector{{Link: "hybr*", Table: allTables},
			{Table: 10000, Last: 40001, Link: "[a-z]*.vxlan[0-9]*"}, {Table: 10000, Last: 39998, Pods: true}},
		Chains: []cleanup.ChainSelector{{Chain: "HYBRIDNET-*"}},
		Links: []cleanup.LinkSelector{{Name: "hybr" + hexDigits(11), Kind: "veth"},
			{Name: "h_*", Kind: "veth", MAC: "ee:ee:ee:ee:ee:ee"},
			{Name: "[a-z]*.vxlan[0-9]*", Kind: "vxlan"}},
		Files: []string{"/etc/cni/net.d/[0-9]*-hybridnet.conflist", "/opt/cni/bin/hybridnet", "/run/cni/hybridnet.sock",
			"/var/lib/cni/results/hybridnet-*"},
		Others: []string{"VLAN links <parent>.<number> that it made, and addresses that it put on them: others make " +
			"links of that name too",
			"default routes in tables 10000 to 39998, which nothing leads to any more",
			"proxy neighbours (`ip neigh show proxy`)",
			"rp_filter of links, neighbour and route limits keep their values until they are set or the node reboots"},
	}
	for _, set := range []string{"HYBR-OVERLAY-NET", "HYBR-ALL", "HYBR-NODE-IP", "HYBR-LOCAL-POD-IP",
		"HYBR-LOCAL-UNDERLAY-NET"} {
		// The names with "-" exist until hybridnet has swapped the sets (pkg/daemon/ipset,
		// RefreshWithBuiltinOptions).
		l.IPSets = append(l.IPSets, set, set+"-", "inet6:"+set, "inet6:"+set+"-")
	}
	return felixResidue(l)
}

func buildHybridnet(in Input, b *Built) error {
	b.Wait.File = in.Node.Networking.Hybridnet.ConfName
	b.note(Warning, in.NetworkOrigin(),
		"hybridnet's VXLAN is on UDP 8472, as that of flannel and of cilium: what is left of those must go first")
	return nil
}
