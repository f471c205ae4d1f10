package network

import (
	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/host/residue"
)

// calicoResidue returns what Felix, BIRD and the installer leave. Names and marks of Felix:
// felix/rules/rule_defs.go, felix/config/config_params.go. BIRD keeps its routes when it exits
// (`persist`). Certificates that the agent installed stay: see
// [tasks.CertificateSet.RetainOnRelease].
func calicoResidue() cleanup.Residue {
	return felixResidue(cleanup.Residue{
		Portmap: []string{kubenetName},
		Units:   []string{"run-calico-cgroup.mount"},
		Routes:  []cleanup.RouteSelector{{Protocol: 12, Pods: true}, {Protocol: 80, Table: allTables}},
		Rules:   []cleanup.RuleSelector{{Priority: 99, Mark: 0x200000, Mask: 0x200000}},
		Files: []string{"/etc/cni/net.d/10-calico.conf",
			// This directory has etcd's certificates and a key. Calico's installer removes it
			// itself (cni-plugin/pkg/install/install.go).
			"/etc/cni/net.d/calico-tls/",
			"/etc/cni/net.d/calico-kubeconfig", "/opt/cni/bin/calico", "/opt/cni/bin/calico-ipam",
			"/opt/cni/bin/calico.tmp", "/opt/cni/bin/calico-ipam.tmp", // temporary files of copyFileAndPermissions
			"/var/lib/calico/", "/run/calico/", "/run/nodeagent/", "/var/log/calico/",
			"/var/lib/cni/networks/" + kubenetName + "/", "/var/lib/cni/results/" + kubenetName + "-*",
			"/etc/NetworkManager/conf.d/calico.conf"},
		Others: []string{"tunl0 itself, down and without an address: the kernel's own link of the module ipip goes " +
			"with `rmmod ipip` when nothing uses it",
			"pins by names of links in /sys/fs/bpf/tcx and /sys/fs/bpf/netkit, which hold nothing any more",
			"eBPF programs by names of others that use Calico's maps: their names do not say whose they are (`bpftool " +
				"prog` lists the maps of each)",
			"the flexvolume driver nodeagent~uds in kubelet's --volume-plugin-dir",
			"the node's blocks and affinities in the datastore (`calicoctl delete node NAME`)"},
	})
}

// calicoModes returns Calico's modes. Felix removes a part of what it left when it starts in
// another mode. BIRD keeps its routes. The default of nftablesMode depends on Calico's release, so
// a document without it may mean either mode.
func calicoModes() []DataplaneMode {
	link := func(name, kind string) cleanup.LinkSelector { return cleanup.LinkSelector{Name: name, Kind: kind} }
	return []DataplaneMode{
		{Of: "encapsulationMode", Name: "ipip", If: calicoIPIP.If, Residue: cleanup.Residue{
			Links:  []cleanup.LinkSelector{{Name: "tunl0", Kind: "ipip", Pods: true}},
			Routes: []cleanup.RouteSelector{{Link: "tunl0", Pods: true}}}},
		{Of: "encapsulationMode", Name: "vxlan", Residue: cleanup.Residue{
			Links:  []cleanup.LinkSelector{link("vxlan.calico", "vxlan"), link("vxlan-v6.calico", "vxlan")},
			Routes: []cleanup.RouteSelector{{Link: "vxlan.calico", Pods: true}, {Link: "vxlan-v6.calico", Pods: true}}},
			If: func(in Input) bool {
				c := in.Node.Networking.Calico
				return c.EncapsulationMode == "vxlan" && c.VXLANMode != "Never"
			}},
		{Of: "nftablesMode", Name: "iptables", Residue: felixIPTables(),
			If: func(in Input) bool { return in.Node.Networking.Calico.NFTablesMode != "Enabled" }},
		{Of: "nftablesMode", Name: "nftables", Residue: felixNFTables(),
			If: func(in Input) bool { return in.Node.Networking.Calico.NFTablesMode != "Disabled" }},
		// The programs are attached to the devices that carry data and, for connections of the
		// host, to the root of cgroup2 (felix/bpf-gpl).
		{Of: "bpfEnabled", Name: "eBPF", If: calicoBPF.If, Residue: cleanup.Residue{
			Links: []cleanup.LinkSelector{link("bpfin.cali", "veth"), link("bpfout.cali", "veth")},
			Programs: []cleanup.ProgramSelector{{Hook: residue.HookTC, Name: "cali_*"},
				{Hook: residue.HookTC, Name: "calico_*"}, {Hook: residue.HookXDP, Name: "cali_*"},
				{Hook: residue.HookXDP, Name: "xdp_cali_*"}, {Hook: residue.HookCgroup, Name: "cali_*"},
				{Hook: residue.HookCgroup, Name: "calico_*"}},
			// The pins may be in any directory: felix/bpf/cleanup.go, CleanUpCalicoPins.
			Pins: []string{"/sys/fs/bpf/**/cali_*", "/sys/fs/bpf/**/calico_*", "/sys/fs/bpf/**/xdp_cali_*",
				"/sys/fs/bpf/ctlb*", "/sys/fs/bpf/calico/"}}},
		{Of: "wireguardEnabled", Name: "WireGuard", If: calicoWireGuard.If, Residue: cleanup.Residue{
			Links: []cleanup.LinkSelector{link("wireguard.cali", "wireguard"), link("wg-v6.cali", "wireguard")}}},
	}
}
