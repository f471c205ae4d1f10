package network

import "github.com/netwright/netwright/pkg/cleanup"

// The file names of the conf: the init container writes the first, tf-operator the second. The
// plugin reads either name in any directory.
const (
	contrailConf = "10-contrail.conf"
	contrailTF   = "10-tf-cni.conf"
)

// contrail returns the row of Contrail. Netwright prepares the node and waits for the conf, which
// the init container writes. Contrail's own kernel module forwards packets, and its link vhost0 has
// the node's address. Sources:
// https://github.com/OpenSDN-io/tf-container-builder (containers/kubernetes/cni-init,
// containers/vrouter, containers/node-init).
func contrail() Network {
	return Network{
		Title: "Contrail, Tungsten Fabric or OpenSDN: vRouter in the kernel, MPLS or VXLAN between nodes, BGP to " +
			"routers",
		Docs: "https://github.com/OpenSDN-io/tf-container-builder",
		Lifecycle: Lifecycle{
			Upstream: "frozen as Tungsten Fabric and closed as Juniper's CN2; its fork OpenSDN goes on",
			Instead:  "ovnKubernetes, kubeOVN or cilium, if OpenSDN is not meant",
		},
		Conf: byDaemonSet(contrailConf, "contrail-k8s-cni").awaited("its init container writes it"),
		// The init container replaces the installed reference plugins by release 0.3.0.
		Plugins: nil,
		Modules: []Module{{Name: "vrouter",
			Why: "moves all packets; its DaemonSet brings one for each kernel, or builds it", Optional: true}},
		Sysctls: forwarding(),
		Ports: []Port{
			{"udp", 6635, "MPLS over UDP"}, {"udp", 4789, "VXLAN"},
			{"ip", 47, "MPLS over GRE"},
			{"tcp", 5269, "XMPP, to the controllers"},
			{"tcp", 179, "BGP, of the controllers"},
		},
		Kubeconfig: "none",
		MTU: "1500 by its default, though MPLS over UDP adds 44 and VXLAN 50: raise the links, or lower " +
			"VROUTER_MTU",
		SharedHost: contrailHost(),
		HealthChecks: []HealthCheck{{Text: "vRouter has the node's address", Link: "vhost0"},
			{Text: "its agent takes pods", Path: "/var/lib/contrail/ports/vm"}},
		Residue: contrailResidue(),
		Untested: "what the plugin answers, and that pods reach each other: it is built by SCons and is no Go " +
			"module, and vrouter.ko must be built for each kernel",
		// The names come from https://github.com/tungstenfabric/tf-container-builder
		// (kubernetes/manifests; the second is with DPDK) and tf-operator
		// (pkg/controller/vrouter/vrouter_ds.go).
		Agents: []string{"contrail-vrouter-agent", "contrail-vrouter-agent-dpdk", "vrouteragent"},
		Build:  buildContrail,
	}
}

func contrailHost() SharedHost {
	return ownLinks("vhost0", "pkt*", "tapeth0-*").besides(
		Shared{Service: "NetworkManager", Ignores: "the card below vhost0: its address is on vhost0 now"},
		Shared{Service: "ifupdown",
			Ignores: "/etc/sysconfig/network-scripts/ifcfg-vhost0 and the card's, which it rewrote"})
}

// contrailResidue returns what Contrail leaves. It follows Contrail's own cleanup
// (containers/vrouter/agent/clean-up.sh), which does not remove files, such as those of the module.
func contrailResidue() cleanup.Residue {
	return cleanup.Residue{
		Uplinks: []cleanup.UplinkSelector{{Link: "vhost0"}},
		Links: []cleanup.LinkSelector{{Name: "vhost0", Kind: "vhost"}, {Name: "pkt[0-3]", Kind: "tun"},
			{Name: "tapeth0-*", Kind: "veth"}, {Name: "tapeth0-*", Kind: "tun"}},
		Files: []string{"/etc/cni/net.d/" + contrailTF,
			"/etc/kubernetes/cni/net.d/" + contrailConf, "/etc/kubernetes/cni/net.d/" + contrailTF,
			"/run/multus/cni/net.d/80-openshift-network.conf", "/opt/cni/bin/contrail-k8s-cni",
			"/usr/bin/contrail-status", "/bin/vif",
			"/etc/sysctl.d/60-tf-node-init.conf", "/etc/sysctl.d/60-kernel.core_pattern.conf",
			"/etc/sysctl.d/tf-hugepages.conf",
			"/etc/sysconfig/network-scripts/ifcfg-vhost0", "/etc/sysconfig/network-scripts/ifcfg-pkt[0-3]",
			"/etc/sysconfig/network-scripts/ifup-vhost",
			"/etc/sysconfig/network-scripts/ifdown-vhost", "/etc/sysconfig/network-scripts/network-functions-vrouter*",
			"/etc/sysconfig/network-scripts/dhclient-vhost0.conf",
			"/lib/modules/*/kernel/net/vrouter/", "/lib/modules/*/updates/dkms/vrouter.ko", "/usr/src/vrouter-*/",
			"/etc/contrail/", "/var/lib/contrail/", "/var/log/contrail/"},
		Sysctls: []cleanup.SysctlSelector{{Key: "net.ipv4.tcp_keepalive_time", Wrote: "5", Default: "7200"},
			{Key: "net.ipv4.tcp_keepalive_probes", Wrote: "5", Default: "9"},
			{Key: "net.ipv4.tcp_keepalive_intvl", Wrote: "1", Default: "75"}},
		Others: []string{"vrouter stays in the kernel: `rmmod vrouter` once vhost0 is gone",
			"the route of the pods (10.32.0.0/12 unless told otherwise) by VROUTER_GATEWAY",
			"/etc/sysconfig/network-scripts/contrail.org.ifcfg-*: the card's own files, to be put back",
			"namespaces vrouter-*, and the link crypt0 of its encryption",
			"reference plugins of 0.3.0 in /opt/cni/bin: install them again",
			"vm.max_map_count, net.core.wmem_max and kernel.core_pattern until they are set or the node reboots"},
	}
}

func buildContrail(in Input, b *Built) error {
	if in.Node.Networking.Contrail.Operator {
		b.Wait.File = contrailTF
	}
	b.note(Info, in.NetworkOrigin(),
		"vRouter's agent asks kubelet for 256 MiB of huge pages (unless HUGE_PAGES_2MB is empty): kubelet counts them "+
			"when it starts, so put vm.nr_hugepages=128 into sysctlParameters before it does")
	b.note(Warning, in.NetworkOrigin(),
		"vRouter takes the node's own address to vhost0: a node without a vrouter.ko for its kernel (%s) is lost to "+
			"its network", in.Facts.Kernel.Release)
	return nil
}
