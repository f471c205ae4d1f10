package network

import (
	"fmt"

	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/tasks"
)

const (
	ciliumConf    = "05-cilium.conflist"
	ciliumKeypair = "etcd-client-cilium" // the names in kOps (nodeup/pkg/model/networking/cilium.go)
	ciliumCA      = "etcd-clients-ca-cilium"
	ciliumPKI     = "/etc/kubernetes/pki/cilium"
)

// cilium returns the row of Cilium. Netwright prepares the node and waits for the conf, which
// cilium-agent writes when it is ready. Sources: https://github.com/cilium/cilium v1.20
// (Documentation/operations/system_requirements.rst, pkg/mtu, pkg/datapath/linux,
// pkg/datapath/iptables).
func cilium() Network {
	return Network{
		Title: "eBPF datapath with policy, by a DaemonSet; vxlan, geneve, native routing or ENI; may replace " +
			"kube-proxy",
		Docs: "https://docs.cilium.io/en/stable/",
		Lifecycle: Lifecycle{
			Stages: []Stage{{Level: Experimental, Kops: "1.9"}, {Level: Stable, Kops: "1.15"},
				{Level: Experimental, Kops: "1.18", Of: ciliumENI.When, If: ciliumENI.If},
				{Level: Stable, Kops: "1.26", Of: ciliumENI.When, If: ciliumENI.If}},
			First: version(1, 12),
			Note:  "the default of kOps since 1.26",
		},
		Conf: byDaemonSet(ciliumConf, "cilium-cni").awaited("its agent writes it when it is ready"),
		Plugins: []Plugin{{Asset: CNIPlugins, Members: []string{"portmap"}, Minimum: "v0.8.0",
			Case: Case{"chainingMode portmap",
				func(in Input) bool { return in.Node.Networking.Cilium.ChainingMode == "portmap" }},
			Source: "https://github.com/containernetworking/plugins"}},
		Modules: ciliumModules(),
		Sysctls: ciliumSysctls(),
		Mounts: []Mount{{What: "bpffs", Where: "/sys/fs/bpf", Type: "bpf"},
			{What: "cgroup2", Where: "/run/cilium/cgroupv2", Type: "cgroup2"}},
		Kubeconfig: "none on the host: its DaemonSet uses the service account",
		Certificates: []Certificate{{Keypair: ciliumKeypair, Dir: ciliumPKI,
			Files: []string{"etcd-ca.crt", "etcd-client-cilium.crt", "etcd-client-cilium.key"},
			Mode:  "0600, 0644, 0400", When: "etcdManaged"}},
		Ports: []Port{
			{"udp", 8472, "VXLAN"}, {"udp", 6081, "Geneve"},
			{"udp", 51871, "WireGuard"},
			{"ip", 50, "IPsec ESP"}, {"tcp", 4240, "health, and ICMP echo"},
			{"tcp", 4244, "Hubble"},
			{"tcp", 4003, "its etcd in kOps, with etcdManaged"},
		},
		MTU: "Cilium's: the smallest of the links with the node's addresses less 50 (vxlan, geneve; 70 over " +
			"IPv6), WireGuard 95 besides, IPsec 77; native 0",
		IPv6:         true,
		Requires:     ciliumRequires(),
		HealthChecks: ciliumHealth(),
		// Its plugin gives an endpoint without a Pod the identity reserved:init, for which there is
		// a policy of its own, and its programs decide at the pods' links about services, ports of
		// the host and masquerading, before a rule of the host's sees a packet.
		Untestable: []Untestable{{Why: "to Cilium a pod that the API does not know is no endpoint but one that is " +
			"still being made (reserved:init), and its programs serve the services before any rule of this host",
			Instead: "`cilium connectivity test` in the cluster; on this node `cilium-dbg status --verbose` and " +
				"`cilium-health status` in the agent's pod",
			Source: "https://docs.cilium.io/en/stable/security/network/identity/"}},
		SharedHost: ownLinks("cilium_*", "lxc*").macs("lxc*").enis("ipam: eni",
			ciliumENI.If).besides(
			Shared{Service: "systemd-sysctl",
				Ignores: "rp_filter of lxc* and cilium_*: a package upgrade runs it again (Cilium writes " +
					"99-zzz-override_cilium.conf)"}),
		Residue: ciliumResidue(),
		Modes:   ciliumModes(),
		Agents:  []string{"cilium-agent"},
		TestedBy: []Proof{{"its plugin supports the version of the conf that its agent writes, and reads the conf",
			"test/plugins TestPlugins"}},
		Untested: "that pods reach each other: no test runs its agent",
		Build:    buildCilium,
	}
}

var (
	ciliumENI = Case{"ipam eni", func(in Input) bool { return in.Node.Networking.Cilium.ENI() }}
	// ciliumWireGuard and ciliumIPsec are the two kinds of encryption between nodes.
	ciliumWireGuard = Case{"encryptionType wireguard",
		func(in Input) bool { return in.Node.Networking.Cilium.WireGuard() }}
	ciliumIPsec = Case{"encryptionType ipsec",
		func(in Input) bool { return in.Node.Networking.Cilium.IPsec() }}
)

// ciliumRequires returns the kernel that each release asks for in
// Documentation/operations/system_requirements.rst, and the release of RHEL whose kernel works too.
// If a document has no version, kOps chooses it, and only the oldest requirement counts.
// https://github.com/cilium/cilium/pull/23951 (1.13), pull/36386 (1.16), pull/38308 (1.18)
func ciliumRequires() Requires {
	from := func(minor int) Case {
		return Case{fmt.Sprintf("version 1.%d and newer", minor), func(in Input) bool {
			v, err := values.ParseVersion(in.Node.Networking.Cilium.Version)
			return err == nil && v.AtLeast(1, minor)
		}}
	}
	return Requires{Kernel: values.Version{Major: 4, Minor: 9, Patch: 17},
		Source: "https://docs.cilium.io/en/stable/operations/system_requirements/",
		Variants: []Requires{
			Requires{Case: from(13), Kernel: values.Version{Major: 4, Minor: 19, Patch: 57}}.orRedHat("8.0"),
			Requires{Case: from(16), Kernel: version(5, 4)}.orRedHat("8.6"),
			Requires{Case: from(18), Kernel: version(5, 10)}.orRedHat("8.6"),
			Requires{Case: from(20), Kernel: version(5, 10)}.orRedHat("8.10"),
			{Clouds: []string{"aws"}, Why: "pods have addresses of the instance's interfaces",
				Case: ciliumENI},
		}}
}

// ciliumHealth returns the checks of what cilium-agent makes when it starts (pkg/defaults,
// pkg/datapath/linux).
func ciliumHealth() []HealthCheck {
	return []HealthCheck{
		{Text: "its agent answers the plugin", Path: "/run/cilium/cilium.sock",
			Missing: "the plugin refuses every pod until cilium-agent runs"},
		{Text: "its host devices are up", Link: "cilium_host",
			Missing: "the agent has not set up the datapath: its log says why (a kernel feature, ip6tables, bpffs)"},
		{Text: "its programs are pinned", Path: "/sys/fs/bpf/tc/globals/cilium_*",
			Missing: "no bpffs at /sys/fs/bpf, or the agent has loaded nothing"},
		{Text: "the VXLAN device is up", Link: "cilium_vxlan", Kind: "vxlan",
			Case: ciliumTunnel("vxlan"), Missing: "pods of other nodes are not reached"},
		{Text: "the Geneve device is up", Link: "cilium_geneve", Kind: "geneve",
			Case: ciliumTunnel("geneve"), Missing: "pods of other nodes are not reached"},
		{Text: "the WireGuard device is up", Link: "cilium_wg0", Kind: "wireguard", Case: ciliumWireGuard,
			Missing: "traffic between nodes is not encrypted"},
		// This is the address of agent-health-port, which the DaemonSet's own probes use too.
		// https://docs.cilium.io/en/stable/cmdref/cilium-agent/
		{Text: "its agent is well", URL: "http://localhost:9879/healthz",
			Missing: "`cilium-dbg status --verbose` in the agent's pod says what is not healthy"},
		podSign("lxc*", ""), // the kind may be veth or netkit
	}
}

// ciliumTunnel returns the condition that Cilium uses this kind of tunnel.
func ciliumTunnel(kind string) Case {
	return Case{"tunnel " + kind,
		func(in Input) bool { return in.Node.Networking.Cilium.Tunnel == kind }}
}

func ciliumModules() []Module {
	return []Module{
		brNetfilter(true),
		{Name: "vxlan", Why: "cilium_vxlan", Case: ciliumTunnel("vxlan")},
		{Name: "geneve", Why: "cilium_geneve", Case: ciliumTunnel("geneve")},
		{Name: "wireguard", Why: "cilium_wg0", Case: ciliumWireGuard},
		{Name: "esp4", Why: "IPsec", Case: ciliumIPsec},
		{Name: "esp6", Why: "IPsec",
			Case: Case{"encryptionType ipsec, and pods have IPv6",
				func(in Input) bool { return ciliumIPsec.If(in) && in.V6 }}},
		{Name: "xfrm_algo", Why: "IPsec", Optional: true, Case: ciliumIPsec},
		{Name: "xfrm_user", Why: "IPsec", Case: ciliumIPsec},
		{Name: "sch_fq", Why: "its bandwidth manager", Optional: true},
		{Name: "xt_socket", Why: "the L7 proxy; without it early demux is switched off", Optional: true},
		// With IPv6, cilium-agent exits if these are missing (pkg/datapath/iptables/iptables.go).
		{Name: "ip6_tables", Why: "its agent ends without", Case: withIPv6, Optional: true},
		{Name: "ip6table_mangle", Why: "its agent ends without", Case: withIPv6, Optional: true},
		{Name: "ip6table_raw", Why: "its agent ends without", Case: withIPv6, Optional: true},
		{Name: "ip6table_filter", Why: "its agent ends without", Case: withIPv6, Optional: true},
	}
}

func ciliumSysctls() []Sysctl {
	return append(forwarding(),
		// systemd's 50-default.conf sets 2 for every link, and the kernel uses the larger one of
		// `all` and the link's own value.
		Sysctl{Key: "net.ipv4.conf.all.rp_filter", Value: "0",
			Why: "pods' packets come by another link than the route back", Required: true, Case: withIPv4},
		// kOps sets these too (nodeup/pkg/model/sysctls.go), because Cilium's own file exists only
		// after its pod has run.
		Sysctl{Key: "net.ipv4.conf.lxc*.rp_filter", Value: "0", Why: "the same of its links when they appear",
			Case: withIPv4},
		Sysctl{Key: "net.ipv4.conf.cilium_*.rp_filter", Value: "0", Why: "the same of its links when they appear",
			Case: withIPv4},
		Sysctl{Key: "net.core.bpf_jit_enable", Value: "1", Why: "its programs run on every packet", Optional: true},
		Sysctl{Key: "net.ipv4.fib_multipath_use_neigh", Value: "1", Why: "routes with several next hops",
			Optional: true})
}

func buildCilium(in Input, b *Built) error {
	c := in.Node.Networking.Cilium
	if c.EnableNodePort {
		b.noteKubeProxy(in, "spec.networking.cilium.enableNodePort", "cilium")
	}
	if c.CNIExclusive == nil || *c.CNIExclusive {
		b.note(Info, in.NetworkOrigin(),
			"cilium renames every other CNI conf to *.cilium_bak while it runs (cni.exclusive): beside multus or "+
				"istio it must not (cniExclusive: false)")
	}
	if err := b.fitMTU(in, "spec.networking.cilium.mtu", c.MTU, ciliumAdds(c)); err != nil {
		return err
	}
	if err := b.addCiliumEtcd(in); err != nil {
		return err
	}
	b.fitENIs(in, false, false)
	return nil
}

// ciliumAdds returns which encapsulation is in use, with an overhead of 0. Cilium's MTU means that
// of the links, and Cilium itself subtracts its overhead for the pods (pkg/mtu). So packets on the
// wire have that size at most.
func ciliumAdds(c *networks.Cilium) encapsulation {
	switch {
	case c.WireGuard():
		return encapsulation{by: "WireGuard"}
	case c.IPsec():
		return encapsulation{by: "IPsec"}
	case c.Tunnel == "vxlan" || c.Tunnel == "geneve":
		return encapsulation{by: "tunnel " + c.Tunnel}
	}
	return encapsulation{}
}

// addCiliumEtcd installs the client certificate for Cilium's own etcd, with the names and modes of
// kOps.
func (b *Built) addCiliumEtcd(in Input) error {
	if !in.Node.Networking.Cilium.EtcdManaged {
		return nil
	}
	if _, has := in.Keypairs[ciliumKeypair]; !has && in.Node.OfKops() && in.Node.CertificateOf(ciliumKeypair) == nil {
		b.note(Warning, in.Origin("spec.networking.cilium.etcdManaged"),
			"Cilium's etcd demands a client certificate, and the store has no keypair %s: kOps keeps none. Its nodeup "+
				"has one issued at boot, "+
				"and puts it into %s. All else is made here. Without nodeup no pod of Cilium starts: put the keypair "+
				"into pki/, signed by %s, or say in spec.certificates who issues it, "+
				"in a document nodegroups/NAME.yaml of netwright's own", ciliumKeypair, ciliumPKI, ciliumCA)
		return nil
	}
	return b.addIdentity(in, identity{network: "cilium", origin: in.Origin("spec.networking.cilium.etcdManaged"),
		because: "its etcd demands one", why: "its etcd demands client certificates",
		server: "etcd", keypair: ciliumKeypair, caName: ciliumCA, ca: in.caOr(ciliumCA), dir: ciliumPKI,
		commonName: "cilium",
		CA:         tasks.CertFile{Name: "etcd-ca.crt", Mode: 0o600},
		Cert:       tasks.CertFile{Name: "etcd-client-cilium.crt", Mode: 0o644},
		Key:        tasks.CertFile{Name: "etcd-client-cilium.key", Mode: 0o400}})
}
