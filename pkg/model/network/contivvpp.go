package network

import "github.com/netwright/netwright/pkg/cleanup"

// contivVPP returns the row of Contiv-VPP. Netwright prepares the node and waits for the conf,
// which the init container writes. VPP handles packets in user space and needs a whole network
// card. Sources: https://github.com/contiv/vpp v3.4.2 (docker/vpp-cni, k8s/contiv-vpp.yaml,
// docs/setup).
func contivVPP() Network {
	return Network{
		Title: "packets through VPP in user space, on a network card of its own; VXLAN or SRv6 between nodes",
		Docs:  "https://github.com/contiv/vpp/tree/master/docs/setup",
		Lifecycle: Lifecycle{
			Last:     version(1, 17), // as its libraries and manifests need
			Upstream: "dormant since September 2020",
			Instead:  "calico (which has a VPP data plane) or cilium",
		},
		Conf: byDaemonSet("10-contiv-vpp.conflist", "contiv-cni", "portmap").awaited("its init container writes it"),
		// The init container installs contiv-cni and loopback, and replaces portmap by a patched
		// 0.7.
		Plugins: nil,
		Modules: []Module{
			{Name: "uio_pci_generic", Why: "VPP drives the card by it; vfio-pci does as well", Optional: true},
			{Name: "vfio-pci", Why: "VPP drives the card by it", Optional: true},
		},
		Sysctls: forwarding(),
		Ports: []Port{
			{"udp", 4789, "VXLAN, VNI 10"}, {"tcp", 12379, "its etcd"},
			{"tcp", 12380, "its etcd"},
			{"tcp", 9999, "REST of its agent"},
			{"tcp", 9111, "gRPC of its agent"},
		},
		Kubeconfig: "none on the host: its DaemonSet uses the service account",
		MTU:        "1450 (mtuSize): 50 of VXLAN below 1500",
		IPv6:       true, // instead of IPv4, not in addition
		Requires: Requires{Hugepages: "2M", Why: "VPP's buffers",
			Source: "https://github.com/contiv/vpp/blob/v3.4.2/docs/setup/MANUAL_INSTALL.md"},
		SharedHost: ownLinks("vpp1", "vpp2").besides(
			Shared{Service: "every service",
				Ignores: "the card that VPP takes: down, without an address (/etc/vpp/contiv-vswitch.conf names it by " +
					"its PCI address)"}),
		HealthChecks: []HealthCheck{{Text: "VPP answers the plugin", Path: "/run/contiv/cni.sock"},
			{Text: "the link between host and VPP", Link: "vpp1"}},
		Residue: contivResidue(),
		Untested: "what the plugin answers, and that pods reach each other: its module builds only from a " +
			"checkout (replace lines), and VPP needs huge pages and a network card of its own",
		Agents: []string{"contiv-vswitch"},
		Build:  buildContivVPP,
	}
}

// contivResidue returns what Contiv-VPP leaves. portmap stays patched and must be installed again.
func contivResidue() cleanup.Residue {
	return cleanup.Residue{
		Portmap: []string{kubenetName},
		Links: []cleanup.LinkSelector{{Name: "vpp1", Kind: "tun"}, {Name: "vpp1", Kind: "veth"},
			{Name: "vpp2", Kind: "veth"}},
		Routes: []cleanup.RouteSelector{{Link: "vpp1"}},
		Sysctls: []cleanup.SysctlSelector{{Key: "kernel.core_pattern", Wrote: "/var/contiv/dumps/%e-%t",
			Default: "core"},
			{Key: "fs.suid_dumpable", Wrote: "2", Default: "0"}},
		Lines: []cleanup.LineSelector{{File: "/etc/modprobe.d/vfio-noiommu.conf",
			Line: "options vfio enable_unsafe_noiommu_mode=1"}},
		Files: []string{"/opt/cni/bin/contiv-cni", "/usr/local/bin/vppctl",
			"/usr/local/bin/contiv-netctl", "/etc/vpp/contiv-vswitch.conf",
			"/run/vpp/", "/run/contiv/", "/var/bolt/bolt.db", "/var/etcd/contiv-data/", "/var/contiv/dumps/"},
		Others: []string{"/opt/cni/bin/portmap is its patched one: install the reference plugin again",
			"the card is still bound to uio_pci_generic or vfio-pci: empty its driver_override, bind it to its own " +
				"driver, give it its address back",
			"the container contiv-stn (docker), if the node has one card only",
			"vm.nr_hugepages, and the lines of it in /etc/sysctl.conf and /etc/modules: who else uses huge pages is " +
				"not known"},
	}
}

func buildContivVPP(in Input, b *Built) error {
	b.note(Info, in.NetworkOrigin(),
		"its vswitch asks kubelet for 512 MiB of huge pages: kubelet counts them when it starts, so put "+
			"vm.nr_hugepages=512 into sysctlParameters before it does")
	return nil
}
