package network

import (
	"fmt"

	"github.com/netwright/netwright/pkg/cleanup"
)

// kubeOVN returns the row of Kube-OVN. Netwright prepares the node and waits for the conf, which
// the init container writes. OVN and Open vSwitch run in pods that use the host's network and
// directories. Sources: https://github.com/kubeovn/kube-ovn v1.16.2 (dist/images, pkg/daemon,
// pkg/util/const.go) and https://github.com/kubeovn/docs.
func kubeOVN() Network {
	return Network{
		Title: "OVN with subnets, VPCs and underlay VLANs, by DaemonSets; geneve, vxlan, stt between nodes, or " +
			"none",
		Docs:      "https://kubeovn.github.io/docs/stable/en/",
		Lifecycle: Lifecycle{First: version(1, 16), Note: "1.16 supports Kubernetes 1.29 and up"},
		Conf:      byDaemonSet("01-kube-ovn.conflist", "kube-ovn", "portmap"),
		Plugins: []Plugin{
			// The init container installs kube-ovn, which must have the same release as the daemon.
			reference("v0.8.0", "ipvlan", "loopback", "macvlan", "portmap")},
		Modules: []Module{
			openvswitch(),
			{Name: "geneve", Why: "between nodes", Case: kubeOVNType("geneve")},
			{Name: "vxlan", Why: "between nodes", Case: kubeOVNType("vxlan")},
			{Name: "8021q", Why: "VLANs of the provider's network", Case: kubeOVNType("vlan")},
			{Name: "esp4", Why: "IPsec",
				Case: Case{"ipsec", func(in Input) bool { return in.Node.Networking.KubeOVN.IPsec }}},
			{Name: "ip_tables", Why: "ovs-ctl load-kmod loads it too", Optional: true},
			{Name: "iptable_nat", Why: "ovs-ctl load-kmod loads it too", Optional: true},
			{Name: "xt_TPROXY", Why: "probes of pods in VPCs",
				Case: Case{"tproxy",
					func(in Input) bool { return in.Node.Networking.KubeOVN.TProxy }}, Optional: true},
		},
		Sysctls: append(forwarding(),
			Sysctl{Key: "net.ipv4.conf.all.rp_filter", Value: "0",
				Why: "answers come by ovn0; its init container writes it too", Case: withIPv4}),
		Kubeconfig: "none on the host: its DaemonSets use the service account; with IPsec /etc/ovs_ipsec_keys, signed " +
			"by kubeovn.io/signer",
		Ports: []Port{
			{"udp", 6081, "geneve"}, {"udp", 4789, "vxlan"},
			{"tcp", 7471, "stt"},
			{"tcp", 6641, "OVN northbound, on central nodes"},
			{"tcp", 6642, "OVN southbound"}, {"tcp", 6643, "northd"},
			{"tcp", 6644, "raft"}, {"ip", 50, "IPsec ESP"},
			{"udp", 500, "IPsec IKE"}, {"udp", 4500, "IPsec through NAT"},
		},
		MTU:  "that of the node's own link less 100 (geneve, vlan), 50 (vxlan), 72 (stt), 20 more over IPv6",
		IPv6: true,
		SharedHost: ownLinks("ovn0", "br-int", "br-external", "ovs-system", "genev_sys_*", "vxlan_sys_*", "mirror0",
			// The first two match links of a pod's first interface, the others those of further
			// interfaces (generateNicName of pkg/daemon/ovs_linux.go).
			"????????????_h", "????????????_c", "?????????????_h", "?????????????_c").besides(ovsInPods(),
			Shared{Service: "NetworkManager",
				Ignores: "the link of an underlay: its daemon makes it unmanaged itself, from NetworkManager 1.6 on " +
					"and not where a VLAN of it is managed"}),
		HealthChecks: []HealthCheck{
			{Text: "the node's own port, by which nodes and pods reach each other", Link: "ovn0",
				Missing: "ovn-central is not reached on 6642, or the kernel has no openvswitch"},
			{Text: "its daemon answers the plugin", Path: "/run/openvswitch/kube-ovn-daemon.sock"},
		},
		Untestable: []Untestable{{Why: "Kube-OVN's controller gives addresses to the API's Pods, by their annotations: its " +
			"plugin refuses a pod that the API does not know",
			Instead: "`kubectl ko diagnose all`", Source: "https://kubeovn.github.io/docs/stable/en/ops/kubectl-ko/"}},
		Residue: kubeOVNResidue(),
		TestedBy: []Proof{
			{"pods of two virtual machines reach each other over Geneve with its own daemon and plugin, Open " +
				"vSwitch and OVN; a switch to another network removes all that these made, except what is said to " +
				"stay",
				"test/cleanup TestKubernetesKubeOVN"},
			{"its plugin supports the version of the conf that its installer writes, and reads the conf",
				"test/plugins TestPlugins"}},
		Untested: "underlays (vlan), vxlan, stt, IPsec and IPv6: their names come from the source code only",
		Agents:   []string{"cni-server", "openvswitch"},
		Build:    buildKubeOVN,
	}
}

func kubeOVNType(kind string) Case {
	return Case{"networkType " + kind,
		func(in Input) bool { return in.Node.Networking.KubeOVN.NetworkType == kind }}
}

// kubeOVNResidue returns what Kube-OVN leaves. Source: dist/images/uninstall.sh, which ends with a
// reboot.
func kubeOVNResidue() cleanup.Residue {
	ovs := ovsMark("br-int", "br-external")
	ovs.Ports = []string{"ovn0", "mirror0"}
	l := cleanup.Residue{
		Portmap: []string{"kube-ovn"},
		// The marks are needed, because ec2-net-utils uses table 10001 for a second interface.
		Rules:  []cleanup.RuleSelector{{Table: 10001, Mark: 0x90003}, {Table: 10001, Mark: 0x90004}},
		Routes: []cleanup.RouteSelector{{Link: "ovn0"}, {Table: 10001, Type: "local", Link: "lo"}},
		Chains: []cleanup.ChainSelector{{Chain: "OVN-PREROUTING"}, {Chain: "OVN-POSTROUTING"}, {Chain: "OVN-OUTPUT"},
			{Chain: "OVN-MASQUERADE"}, {Chain: "OVN-NAT-POLICY"}, {Chain: "OVN-NAT-PSUBNET-*"},
			{Comment: "kube-ovn *"}, {Comment: "ovn-subnet-gateway,*"}, {Set: "ovn[46]0subnets"},
			{Set: "ovn[46]0services"}},
		OVS:   []cleanup.OVSSelector{ovs},
		Links: []cleanup.LinkSelector{{Name: "[0-9a-f]*_h", Kind: "veth", Master: ovsDatapath}},
		Files: []string{"/etc/cni/net.d/0[01]-kube-ovn.conflist", "/opt/cni/bin/kube-ovn", "/usr/local/bin/kubectl-ko",
			// These are temporary files of dist/images/install-cni.sh.
			"/etc/cni/net.d/0[01]-kube-ovn.conflist.tmp.*", "/opt/cni/bin/kube-ovn.tmp.*", "/usr/local/bin/kubectl-ko.tmp.*",
			"/run/openvswitch/kube-ovn-daemon.sock", "/run/ovn/", "/etc/ovn/", "/etc/origin/ovn/",
			"/etc/ovs_ipsec_keys/", "/etc/origin/ovs_ipsec_keys/", "/var/log/kube-ovn/", "/var/log/ovn/",
			"/var/lib/cni/results/kube-ovn-*"},
		Others: []string{"underlay: bridges br-<provider>, which have their link's addresses and routes: these first " +
			"go back, with a console at hand (`ovs-vsctl list-ports br-PROVIDER` names the link)",
			"policy routes of subnets: the tables and priorities are in their policyRoutingTableID and " +
				"policyRoutingPriority", "/etc/openvswitch and /etc/origin/openvswitch (the database), " +
				"/run/openvswitch and /var/log/openvswitch, if no other Open vSwitch uses them",
			"rules that mark or accept --dport 6081 and 4789, and FORWARD's policy ACCEPT",
			"with IPsec: XFRM states and policies, CAs in /etc/ipsec.d/cacerts",
			"the chassis in OVN (`ovn-sbctl chassis-del`)"},
	}
	for _, set := range []string{"subnets", "subnets-nat", "subnets-distributed-gw", "local-pod-ip-nat", "other-node",
		"services", "subnets-nat-policy"} {
		l.IPSets = append(l.IPSets, "ovn40"+set, "ovn60"+set)
	}
	// The names ovn4t and ovn6t exist until Kube-OVN has swapped the sets (ipsets/ipset_defs.go of
	// https://github.com/kubeovn/felix).
	l.IPSets = append(l.IPSets, "ovn40natpr-*", "ovn60natpr-*", "ovn4t[0-9]*", "ovn6t[0-9]*")
	return l
}

// kubeOVNAdds returns the overhead of the network types. Without a configured MTU the daemon
// subtracts more than the packets need (pkg/daemon/config.go, pkg/util/const.go). OVN's Geneve
// header has 58 bytes. A VLAN adds nothing.
func kubeOVNAdds(in Input) encapsulation {
	out := map[string]encapsulation{
		"geneve": {by: "Geneve", sure: ovnOverhead, most: 100}, "vxlan": {by: "VXLAN", sure: 50},
		"stt": {by: "STT", sure: 72}, "vlan": {},
	}[in.Node.Networking.KubeOVN.NetworkType]
	if out.by != "" && overIPv6(in) {
		out.sure, out.most = out.sure+20, out.most+20
	}
	return out
}

func buildKubeOVN(in Input, b *Built) error {
	k := in.Node.Networking.KubeOVN
	b.Wait.File = k.ConfPriority + "-kube-ovn.conflist"
	if k.NetworkType == "geneve" && in.Facts.Kernel.Release != "" && !in.Facts.Kernel.IPv6 {
		return fmt.Errorf("use kubeOVN with networkType geneve (%s): the kernel of this node has no IPv6 "+
			"(ipv6.disable=1, or built without), and its Geneve ports need it even over IPv4: boot it with IPv6, or "+
			"set networkType: vxlan",
			in.Origin("spec.networking.kubeOVN.networkType"))
	}
	if k.NetworkType == "vlan" {
		if k.Interface == in.Facts.Uplink {
			b.note(Warning, in.Origin("spec.networking.kubeOVN.interface"),
				"%s has this node's default route: when it joins the bridge its addresses move there and the node's "+
					"connections pause; a second link is safer", k.Interface)
		}
		b.note(Info, in.Origin("spec.networking.kubeOVN.networkType"),
			"underlay: the switch must let frames of pods' MAC addresses through the port of %s", k.Interface)
	}
	return b.fitMTU(in, "spec.networking.kubeOVN.mtu", k.MTU, kubeOVNAdds(in))
}
