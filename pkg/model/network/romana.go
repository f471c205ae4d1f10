package network

import "github.com/netwright/netwright/pkg/cleanup"

// romana returns the row of Romana. Netwright prepares the node and waits for the conf.
// romana-agent writes it, unless any other *.conf is in the directory. Sources:
// https://github.com/romana/romana v2.0.2 (containerize/targets/agent) and
// https://github.com/romana/core (cmd/romana_agent, cni, agent/enforcer).
func romana() Network {
	return Network{
		Title: "routes between blocks of addresses with policy, by a DaemonSet and an etcd of its own; no overlay",
		Docs:  "https://github.com/romana/romana",
		Lifecycle: Lifecycle{
			Stages: []Stage{{Level: Experimental, Kops: "1.8"}, {Level: Deprecated, Kops: "1.18"},
				{Level: Removed, Kops: "1.19"}},
			First:    version(1, 7),
			Upstream: "ended (last release 2.0.2 in February 2018)",
			Instead:  "calico or cilium",
		},
		// The ipam type romana-ipam is not a program.
		Conf: byDaemonSet("10-romana.conf", "romana").awaited(
			"its DaemonSet writes it, and only while no other *.conf is there"),
		Plugins: []Plugin{reference("v0.2.0", "loopback")}, // romana-agent installs romana, but not loopback
		Modules: []Module{
			{Name: "dummy", Why: "romana-lo, the pods' gateway 172.142.0.1"},
			{Name: "ip_set", Why: "policy"}, {Name: "xt_set", Why: "policy"},
		},
		Sysctls: append(forwarding(),
			Sysctl{Key: "net.ipv4.conf.all.proxy_arp", Value: "1",
				Why: "pods ask for a gateway that no link has; its agent sets it too"},
			Sysctl{Key: "net.ipv4.conf.default.proxy_arp", Value: "1", Why: "the same for links to come"}),
		Kubeconfig: "/run/romana/kubeconfig, written by its DaemonSet with the service account's token",
		Ports: []Port{
			{"tcp", 9600, "its daemon, by the service of daemonServiceIP"},
			{"tcp", 4001, "its etcd, by the service of etcdServiceIP on 12379, without TLS"},
			{"tcp", 9607, "metrics of its agent"},
		},
		MTU:        "that of the link with the node's address: nothing is encapsulated",
		SharedHost: ownLinks("romana-*"),
		HealthChecks: []HealthCheck{
			{Text: "its link", Link: "romana-lo", Kind: "dummy"},
			{Text: "its plugin's way to the API", Path: "/run/romana/kubeconfig"},
		},
		Residue: romanaResidue(),
		Agents:  []string{"romana-agent"},
		Build:   buildRomana,
	}
}

// romanaResidue returns what Romana leaves. romana-agent must be gone before anything is removed,
// because it empties every ipset of the host when an update of its own sets fails
// (agent/enforcer/ipsettools.go).
func romanaResidue() cleanup.Residue {
	return cleanup.Residue{
		// There is one rule for every packet, with the priority that the kernel chose, and a route
		// to each block through its node (core: agent/rtable, agent/route.go). The name of the
		// table in rt_tables proves that both are Romana's.
		Rules:  []cleanup.RuleSelector{{Table: 10, All: true}},
		Routes: []cleanup.RouteSelector{{Table: 10, Pods: true, Via: true, Protocol: protocolBoot}, {Link: "romana-*"}},
		Chains: []cleanup.ChainSelector{{Chain: "ROMANA-*"}, {Table: "filter", Chain: "ROMANA_FORWARD"},
			{Table: "filter", Chain: "FORWARD", Comment: "romana forwarding rules"},
			{Table: "nat", Chain: "POSTROUTING", Comment: "romana postrouting rules"},
			{Table: "filter", In: "romana-*"}, {Table: "filter", Out: "romana-*"}},
		IPSets: []string{"localBlocks", "ROMANA-*"},
		Links:  []cleanup.LinkSelector{{Name: "romana-lo", Kind: "dummy"}, {Name: "romana-????????", Kind: "veth"}},
		Sysctls: []cleanup.SysctlSelector{{Key: "net.ipv4.conf.all.proxy_arp", Wrote: "1", Default: "0"},
			{Key: "net.ipv4.conf.default.proxy_arp", Wrote: "1", Default: "0"}},
		Lines: []cleanup.LineSelector{{File: "/etc/iproute2/rt_tables", Line: "10 romana"}},
		Files: []string{"/opt/cni/bin/romana", "/usr/local/bin/romana", "/etc/romana/",
			"/etc/rlog/romana.conf", "/run/romana/",
			"/var/log/romana/", "/var/tmp/romana-cni.log", "/var/tmp/romana-cli.log",
			"/var/lib/cni/results/romana-k8s-network-*"},
		Others: []string{"the services' range by the node's own link in table main, where its agent added it",
			"/var/lib/romana/etcd-db on the control plane: its etcd, /romana/* with all blocks",
			"on AWS: routes of the VPC to this node's blocks, and the source/destination check that is off"},
	}
}

func buildRomana(in Input, b *Built) error {
	b.note(Warning, in.NetworkOrigin(),
		"while romana's agent runs it empties every ipset of this node when an update of its own fails, kube-proxy's "+
			"in mode ipvs too: run kube-proxy in mode iptables")
	return nil
}
