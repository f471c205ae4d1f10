package network

import (
	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/tasks"
)

// kubeRouter returns the row of kube-router. Netwright prepares the node and waits for the conf.
// The init container writes it, and the daemon adds the node's pod CIDR and MTU. Sources:
// https://github.com/cloudnativelabs/kube-router (pkg/controllers/routing, pkg/controllers/proxy,
// pkg/utils/sysctl.go).
func kubeRouter() Network {
	return Network{
		Title: "BGP between nodes, services by IPVS in place of kube-proxy, policy, by one DaemonSet",
		Docs:  "https://www.kube-router.io/docs/",
		Lifecycle: Lifecycle{
			Stages: []Stage{{Level: Experimental, Kops: "1.6.2"}},
			First:  version(1, 2),
		},
		Conf: byDaemonSet("10-kuberouter.conflist", "bridge", "portmap").awaited(
			"its DaemonSet writes it, and only while no file of that name is there"),
		Plugins: []Plugin{reference("v0.8.0", "bridge", "host-local", "loopback", "portmap")},
		Modules: []Module{
			brNetfilter(false),
			{Name: "ip_vs", Why: "services"}, {Name: "ip_vs_rr", Why: "its default scheduler"},
			{Name: "ip_vs_wrr", Why: "a scheduler", Optional: true},
			{Name: "ip_vs_sh", Why: "a scheduler", Optional: true},
			{Name: "ip_set", Why: "policy and masquerade"},
			{Name: "xt_set", Why: "rules that ask sets", Optional: true},
			{Name: "dummy", Why: "kube-dummy-if, which has the services' addresses"},
			{Name: "ipip", Why: "tunnels to nodes of other subnets", Optional: true},
		},
		Sysctls: append(append(forwarding(), bridgeNetfilter()...),
			Sysctl{Key: "net.ipv4.vs.conntrack", Value: "1", Why: "masqueraded services", Optional: true},
			Sysctl{Key: "net.ipv4.conf.all.arp_ignore", Value: "1",
				Why: "every node has the services' addresses, and only one may answer"},
			Sysctl{Key: "net.ipv4.conf.all.arp_announce", Value: "2",
				Why: "every node has the services' addresses, and none may announce them"}),
		Kubeconfig: "/var/lib/kube-router/kubeconfig, CN system:kube-router, by spec.certificates (name: kube-router) " +
			"or who makes the cluster",
		Ports: []Port{
			{"tcp", 179, "BGP"},
			{"ip", 4, "IPIP, to nodes of other subnets"},
			{"udp", 5555, "FOU, where IPIP does not pass (Azure)"},
			{"udp", 3784, "BFD"},
		},
		MTU: "that of the link with the node's address, not reduced for its tunnels (20 of IPv4, 40 of IPv6)",
		// https://github.com/cloudnativelabs/kube-router/blob/master/docs/ipv6.md
		IPv6: true, IPv6When: "kube-router 2.0 and newer (--enable-ipv6), outside of kOps' clusters",
		IPv6If: func(in Input) bool { return !in.Node.OfKops() },
		HealthChecks: []HealthCheck{
			{Text: "the bridge of the pods is up", Link: "kube-bridge", Kind: "bridge",
				Missing: "its router has not started: its log says why (no pod CIDR, no kubeconfig)"},
			{Text: "the services' addresses have their link", Link: "kube-dummy-if", Kind: "dummy",
				Missing: "its service proxy does not run, and kube-proxy is off: no service answers"},
			{Text: "its kubeconfig is there", Path: "/var/lib/kube-router/kubeconfig",
				Missing: "its daemon does not reach the API without it: the tool that makes the cluster writes it"},
			// This is the address of --health-port.
			// https://github.com/cloudnativelabs/kube-router/blob/master/docs/health.md
			{Text: "its controllers are alive", URL: "http://localhost:20244/healthz",
				Missing: "one of its controllers has sent no heartbeat for too long: its log says which"},
			podSign("veth*", "veth"),
		},
		SharedHost: ownLinks("kube-bridge", "kube-dummy-if", "tun-*", "veth*"),
		Residue:    kubeRouterResidue(),
		Agents:     []string{"kube-router"},
		TestedBy: []Proof{{"pods of two nodes reach each other with its daemon, over BGP and with a policy of the " +
			"real API, and what it left is removed", "test/cleanup TestKubernetesKubeRouter"}},
		Untested: "services by IPVS, its tunnels and policy by nftables: the kernel of the test nodes has no " +
			"IPVS, dummy or IPIP, and the tested release 2.1.0 has no nftables, so their names come from the " +
			"source code only",
		Build: buildKubeRouter,
	}
}

func kubeRouterResidue() cleanup.Residue {
	l := cleanup.Residue{
		Portmap: []string{"mynet", "kubernetes"},
		// Rules for packets from pods lead to table 77 (pkg/routes/pbr.go). Rules for the mark of a
		// DSR service lead to table 78, and one rule for every packet to table 79
		// (pkg/controllers/proxy/linux_networking.go, network_services_controller.go:
		// defaultTrafficDirectorRulePriority, defaultDSRPolicyRulePriority).
		Rules: []cleanup.RuleSelector{{Table: 77, Pods: true}, {Priority: 32764, Table: 78, Marked: true},
			{Priority: 32765, Table: 79, All: true}},
		// Table 77 leads to other nodes through tunnels (pkg/tunnels/linux_tunnels.go,
		// addTunnelRoute). Table 78 has all addresses as local. Table 79 leads to external
		// addresses through the bridge.
		Routes: []cleanup.RouteSelector{{Protocol: 17, Table: allTables}, {Table: 77, Link: "tun-*"},
			{Table: 78, Type: "local", Link: "lo"}, {Table: 79, Link: "kube-bridge"}},
		Links: []cleanup.LinkSelector{{Name: "kube-bridge", Kind: "bridge"},
			{Name: "veth*", Kind: "veth", Master: "kube-bridge"},
			{Name: kubeRouterLink, Kind: "dummy"}, {Name: "tun-" + hexDigits(11), Kind: "ipip"},
			{Name: "tun-" + hexDigits(11), Kind: "ip6tnl"}},
		Chains: []cleanup.ChainSelector{{Chain: "KUBE-ROUTER-*"}, {Chain: "KUBE-POD-FW-*"}, {Chain: "KUBE-NWPLCY-*"},
			{Chain: "FORWARD", In: "kube-bridge"}, {Chain: "FORWARD", Out: "kube-bridge"},
			{Chain: "FORWARD",
				Comment: "allow outbound node port traffic on node interface with which node ip is associated"}},
		Tables: []cleanup.TableSelector{{Family: "ip", Name: "kube-router-filter-ipv4"},
			{Family: "ip6", Name: "kube-router-filter-ipv6"}},
		Files: []string{"/etc/cni/net.d/10-kuberouter.conf",
			"/etc/cni/net.d/.tmp-kuberouter-cfg", "/var/lib/kube-router/",
			"/var/lib/cni/networks/mynet/", "/var/lib/cni/networks/kubernetes/", "/var/lib/cni/results/mynet-*"},
		// These are services at the addresses of kube-router's own link, and those whose servers
		// are all pods (node ports). If kube-proxy uses IPVS, there is a link kube-ipvs0.
		IPVS: []cleanup.IPVSSelector{{Link: kubeRouterLink, Unless: kubeProxyLink},
			{Pods: true, Unless: kubeProxyLink}},
		Sysctls: []cleanup.SysctlSelector{{Key: "net.ipv4.conf.all.arp_ignore", Wrote: "1", Default: "0"},
			{Key: "net.ipv4.conf.all.arp_announce", Wrote: "2", Default: "0"}},
		Others: []string{"rp_filter keeps its value on the node's link until it is set or the node reboots",
			"its half-written ipsets TMP-* (`ipset destroy`), a name that other programs use too",
			"the rules of a DSR service in mangle, by its address: they mark its packets and set their MSS, and have " +
				"no comment (`iptables -t mangle -S`)",
			"IPVS services without a server that is a pod, at addresses of the node"},
	}
	for _, file := range []string{"/etc/iproute2/rt_tables", "/usr/share/iproute2/rt_tables"} {
		for _, line := range []string{"77 kube-router", "78 kube-router-dsr", "79 external_ip"} {
			l.Lines = append(l.Lines, cleanup.LineSelector{File: file, Line: line})
		}
	}
	for _, set := range []string{"kube-router-pod-subnets", "kube-router-node-ips", "kube-router-local-ips",
		"kube-router-svip", "kube-router-svip-prt",
		"kube-router-local-pods", "KUBE-SRC-*", "KUBE-DST-*"} {
		for _, name := range []string{set, "inet6:" + set} {
			l.IPSets = append(l.IPSets, name)
			l.Chains = append(l.Chains, cleanup.ChainSelector{Table: "nat", Chain: "POSTROUTING", Set: name},
				cleanup.ChainSelector{Table: "mangle", Set: name})
		}
	}
	return l
}

func buildKubeRouter(in Input, b *Built) error {
	if in.Node.CloudProvider == "azure" {
		b.note(Warning, in.NetworkOrigin(),
			"Azure drops IPIP: kube-router needs --overlay-encap=fou there, and UDP 5555 between the nodes")
	}
	b.noteKubeProxy(in, "spec.networking.kubeRouter", "kube-router")
	// Older distributions have the file only in /etc.
	// https://github.com/kubernetes/kops/issues/17914
	b.add(tasks.Directory{
		Meta: in.Meta("its pod mounts rt_tables there: kubelet makes the file, and not the directory"),
		Path: "/usr/share/iproute2", Mode: 0o755})
	return nil
}
