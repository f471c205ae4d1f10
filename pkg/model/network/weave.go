package network

import "github.com/netwright/netwright/pkg/cleanup"

// weave returns the row of Weave Net. Netwright prepares the node and waits for the conf, which the
// init container writes only if there is none. Sources: https://github.com/weaveworks/weave v2.8.1
// (weave, net/, npc/, plugin/, prog/weave-kube).
func weave() Network {
	return Network{
		Title: "mesh of tunnels over Open vSwitch's kernel datapath, plain or encrypted, with its own addresses and " +
			"policy, by a DaemonSet",
		Docs: "https://github.com/weaveworks/weave/blob/v2.8.1/site/kubernetes/kube-addon.md",
		Lifecycle: Lifecycle{
			Stages: []Stage{{Level: Experimental, Kops: "1.5"}, {Level: Deprecated, Kops: "1.23"},
				{Level: Removed, Kubernetes: "1.23"}},
			First:    version(1, 4),
			Upstream: "ended (last release 2.8.1 in January 2021)",
			Instead:  "calico or cilium",
		},
		Conf: byDaemonSet("10-weave.conflist", "weave-net", "portmap").awaited(
			"its DaemonSet writes it, and only while no conf of that name is there"),
		Plugins: []Plugin{
			// The init container installs weave-net and weave-ipam, which are links to one program.
			reference("v0.8.0", "loopback", "portmap")},
		Modules: []Module{
			brNetfilter(false),
			{Name: "ip_set", Why: "policy"},
			{Name: "xt_set", Why: "policy: its init container tries a rule with a set, and ends without"},
			{Name: "openvswitch", Why: "the fast datapath; without it packets go through user space (sleeve)",
				Optional: true},
			{Name: "vxlan", Why: "vxlan-6784 of the fast datapath", Optional: true},
			{Name: "nfnetlink_log", Why: "npc logs what policy drops, group 86", Optional: true},
		},
		Sysctls: append(forwarding(), bridgeNetfilter()...),
		Kubeconfig: "none on the host: its DaemonSet uses the service account; the password of its encryption is the " +
			"Secret weave-net",
		Ports: []Port{
			{"tcp", 6783, "control"},
			{"udp", 6783, "sleeve, in user space"},
			{"udp", 6784, "fast datapath (VXLAN)"},
			{"ip", 50, "ESP, fast datapath with a password"},
		},
		MTU: "1376 (WEAVE_MTU), which passes any link of 1460 and up: the fast datapath adds 84 to 87; kOps on AWS " +
			"8912",
		Requires: Requires{Kernel: version(3, 8), Why: "network namespaces as its router uses them",
			Source: "https://github.com/weaveworks/weave/blob/v2.8.1/site/install/installing-weave.md"},
		SharedHost: ownLinks("weave", "datapath", "vethwe*", "vxlan-6784").macs("weave", "vethwe*"),
		HealthChecks: []HealthCheck{
			{Text: "its bridge", Link: "weave", Kind: "bridge"},
			{Text: "its share of the addresses", Path: "/var/lib/weave/*.db"},
			{Text: "its router answers", URL: "http://localhost:6784/status",
				Missing: "weave does not run here: `weave --local status` in its pod"},
		},
		Residue: weaveResidue(),
		Untested: "what the plugin answers, and that pods reach each other: its code is older than Go modules " +
			"(GOPATH and vendor), and no test builds it",
		Agents: []string{"weave"},
		Build:  buildWeave,
	}
}

// weaveResidue returns what Weave Net leaves. `weave reset` removes only about half of it, and
// needs Docker. The rule `-o weave -j DROP` stays in FORWARD after the daemon has gone.
func weaveResidue() cleanup.Residue {
	return cleanup.Residue{
		Portmap: []string{"weave"},
		Routes:  []cleanup.RouteSelector{{Link: "weave"}},
		Chains: []cleanup.ChainSelector{{Table: "nat", Chain: "WEAVE"}, {Chain: "WEAVE-*"},
			{Table: "filter", Chain: "FORWARD", In: "weave"}, {Table: "filter", Chain: "FORWARD", Out: "weave"},
			{Table: "filter", Chain: "INPUT", In: "weave"}, {Table: "nat", Chain: "POSTROUTING", Out: "weave"},
			{Table: "filter", Chain: "INPUT", Comment: "Block non-local access to Weave Net control port"}},
		// The sets of its policy are named weave- and 25 characters, among them special characters
		// of a shell (npc/controller/ipset_name.go).
		IPSets: []string{"weaver-no-masq-local", "weave-*"},
		Links: []cleanup.LinkSelector{{Name: "weave", Kind: "bridge"}, {Name: "vethwe*", Kind: "veth"},
			{Name: "vethwedu", Kind: "dummy"}, {Name: "vxlan-6784", Kind: "vxlan"}},
		Files: []string{"/etc/cni/net.d/10-weave.conf", "/opt/cni/bin/weave-net",
			"/opt/cni/bin/weave-ipam", "/opt/cni/bin/weave-plugin-*",
			"/var/lib/weave/", "/var/lib/cni/results/weave-*"},
		XFRM: []cleanup.XFRMSelector{{Mark: 0x20000, Mask: 0x20000, States: true}}, // with a password (net/ipsec)
		OVS:  []cleanup.OVSSelector{{Datapath: "datapath"}},
		Others: []string{"rules of INPUT for 6783, 6784 and DNS on docker0, where Docker was there",
			"this node's share of the addresses (`weave rmpeer NAME` on another node) and its name in the ConfigMap " +
				"weave-net"},
	}
}

// weaveAdds has the most that the fast datapath adds: 50 for VXLAN, and 37 for ESP with a password
// (site/concepts/fastdp-how-it-works.md). Packets that do not fit go through user space (sleeve),
// which splits them: this is slow, but loses nothing.
var weaveAdds = encapsulation{most: 87}

func buildWeave(in Input, b *Built) error {
	if err := b.fitMTU(in, "spec.networking.weave.mtu", in.Node.Networking.Weave.MTU, weaveAdds); err != nil {
		return err
	}
	b.note(Info, in.NetworkOrigin(),
		"weave has addresses of its own range (IPALLOC_RANGE, in kOps the cluster's podCIDR) and looks at no node's "+
			"pod CIDR")
	return nil
}
