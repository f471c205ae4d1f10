package network

import (
	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/host/residue"
)

// lxc matches Cilium's name of a pod's link: `lxc` and 12 hex digits
// (pkg/datapath/connector/add.go). Cilium's own cleanup looks for 5 digits. The bridge lxcbr0 of
// LXC does not match.
const lxc = "lxc[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]"

// lxcOld matches the earlier name of such a link. cilium-dbg/cmd/cleanup.go removes these too.
const lxcOld = "lxc[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]"

// ciliumResidue returns what cilium-agent leaves. `cilium-dbg post-uninstall-cleanup` does not
// remove the policy rules, the chains, the ipsets and the sysctl file. It does not move the rule
// for local addresses back from priority 100, to which cilium-agent moved it.
func ciliumResidue() cleanup.Residue {
	return cleanup.Residue{
		Portmap: []string{"cilium", "portmap"},
		Units: []string{"run-cilium-cgroupv2.mount", "run-cilium-bpffs.mount",
			`run-netns-cilium\x2dhealth.mount`}, // the netNSName of cilium-health/launch
		LocalRule: true,
		Rules: []cleanup.RuleSelector{
			// These rules are for the proxy.
			{Mark: 0x200, Mask: 0xf00, Table: 2004}, {Mark: 0xa00, Mask: 0xf00, Table: 2005},
			{Mark: 0xb00, Mask: 0xf00, Table: 2005},
			{Priority: 109, Mark: 0x80, Mask: 0x80}, {Priority: 20, Pods: true}, // for ENI
			// These are for ENI. The table is 10 plus the number of the interface. Newer releases
			// set the protocol of the kernel on the rules (linux_defaults.RTProto).
			{Priority: 110, Table: 10, Last: 50, From: true, Protocol: 2},
			{Priority: 111, Table: 10, Last: 50, From: true, Protocol: 2},
			{Priority: 110, Table: 10, Last: 50, Pods: true}, {Priority: 111, Table: 10, Last: 50, Pods: true},
			{Priority: 112, Table: 202, To: true}, // for VTEP: a rule for each range
		},
		// Routes through its own links are in the tables 200 (IPsec), 202 (VTEP) and 2005 (from the
		// proxy). Routes to the proxy are of type local, through lo (pkg/proxy/routes.go).
		Routes: []cleanup.RouteSelector{{Link: "cilium_*", Table: allTables}, {Table: 2004, Type: "local", Link: "lo"},
			{Link: lxc}, {Protocol: 2, Pods: true}},
		Chains: []cleanup.ChainSelector{{Chain: "CILIUM_*"}, {Chain: "OLD_CILIUM_*"}, {Comment: "cilium-feeder: *"},
			{Comment: "cilium-feeder:*"}},
		IPSets: []string{"cilium_node_set_v4", "cilium_node_set_v6"},
		Links: []cleanup.LinkSelector{{Name: lxc, Kind: "veth"}, {Name: lxc, Kind: "netkit"},
			{Name: "lxc_health", Kind: "veth"}, {Name: "lxc_health", Kind: "netkit"},
			{Name: lxcOld, Kind: "veth"},
			{Name: "cilium_*", Kind: "veth"}, {Name: "cilium_*", Kind: "ipip"}, {Name: "cilium_*", Kind: "ip6tnl"}, {Name: "cilium_*", Kind: "dummy"}},
		// Leftover programs at the host's devices would go on to redirect packets. Those at the
		// cgroup would go on to translate the host's connections. Both would use outdated maps.
		Programs: []cleanup.ProgramSelector{{Hook: residue.HookTC, Name: "cil_*"},
			{Hook: residue.HookXDP, Name: "cil_xdp_*"}, {Hook: residue.HookCgroup, Name: "cil_sock*"}},
		Pins: []string{"/sys/fs/bpf/cilium/", "/sys/fs/bpf/tc/globals/cilium_*"},
		Files: []string{"/etc/cni/net.d/05-cilium.conf",
			"/etc/cni/net.d/10-cilium-cni.conf", "/etc/cni/net.d/00-cilium-cni.conf",
			"/etc/cni/net.d/05-cilium-cni.conf", "/etc/sysctl.d/99-zzz-override_cilium.conf", "/opt/cni/bin/cilium-cni",
			"/opt/cni/bin/cilium-mount",
			"/opt/cni/bin/cilium-sysctlfix", "/run/netns/cilium-health", "/run/cilium/", "/var/lib/cilium/",
			"/etc/systemd/system/run-cilium-cgroupv2.mount"},
		// cilium-dbg/cmd/cleanup.go restores these names too (revertCNIBackup).
		Renamed: []cleanup.RenamedSelector{{Path: "/etc/cni/net.d/*.cilium_bak", Suffix: ".cilium_bak"}},
		Others: []string{"*.cilium_bak in /etc/cni/net.d that would come before the next network's conf: they may be " +
			"those of a network that has gone",
			"tc filters of releases before 1.13: bpf_netdev*, bpf_host*, bpf_lxc*, bpf_overlay* (`tc filter show`)",
			"with ipam eni: the primary address on each further interface, and interfaces tagged " +
				"io.cilium/cilium-managed in EC2"},
	}
}

// ciliumModes returns Cilium's modes. When cilium-agent starts without a tunnel, it removes the
// tunnel's link (pkg/datapath/loader), and leaves everything else. Native routing has nothing that
// a tunnel does not have.
func ciliumModes() []DataplaneMode {
	tunnel := func(kind string) DataplaneMode {
		return DataplaneMode{Of: "tunnel", Name: kind, If: ciliumTunnel(kind).If,
			Residue: cleanup.Residue{Links: []cleanup.LinkSelector{{Name: "cilium_*", Kind: kind}}}}
	}
	return []DataplaneMode{
		tunnel("vxlan"), tunnel("geneve"),
		{Of: "encryptionType", Name: "wireguard", If: ciliumWireGuard.If,
			Residue: cleanup.Residue{Links: []cleanup.LinkSelector{{Name: "cilium_*", Kind: "wireguard"}}}},
		{Of: "encryptionType", Name: "ipsec", If: ciliumIPsec.If,
			Residue: cleanup.Residue{
				Rules: []cleanup.RuleSelector{{Mark: 0xd00, Mask: 0xf00, Table: 200}, {Mark: 0xe00, Mask: 0xf00, Table: 200}},
				// Routes of type local to its device have protocol 50, or that of the kernel in
				// later releases (createNodeIPSecInRoute of pkg/datapath/linux).
				Routes: []cleanup.RouteSelector{{Table: 200, Protocol: 50}, {Table: 200, Protocol: 2, Type: "local"}},
				// These are for decryption, encryption and packets to the proxy. The other bits of
				// a mark name the node and the key, so the masks leave them out. Policies for
				// forwarded packets have no mark (pkg/datapath/linux/ipsec/ipsec_linux.go).
				XFRM: []cleanup.XFRMSelector{{Mark: 0xd00, Mask: 0xf00}, {Mark: 0xe00, Mask: 0xf00},
					{Mark: 0x200, Mask: 0xf00, ReqID: 1}, {ReqID: 1, Priority: 0xb9f}, {ReqID: 2, Priority: 0xb9f}}}},
	}
}
