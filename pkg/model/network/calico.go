package network

import (
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/config/values"
)

// calico returns the row of Calico. Netwright prepares the node and waits for the conf, which the
// DaemonSet writes. With the datastore etcd the agent also installs the client certificates that
// Calico shows to etcd.
func calico() Network {
	return Network{
		Title: "routed or overlay network with policy, by a DaemonSet; datastore Kubernetes or etcd (mTLS)",
		Docs:  "https://docs.tigera.io/calico/latest/about/",
		Lifecycle: Lifecycle{
			Stages: []Stage{{Level: Experimental, Kops: "1.6"}, {Level: Stable, Kops: "1.11"}},
			First:  version(1, 2),
			Note:   "kOps chose the etcd datastore up to 1.19",
		},
		Conf: byDaemonSet("10-calico.conflist", "calico", "portmap"),
		// The image calico/cni installs calico, calico-ipam, host-local, loopback and portmap. The
		// agent installs none, as kOps does.
		Plugins: nil,
		Modules: []Module{
			brNetfilter(true),
			{Name: "ip_set", Why: "policy", Optional: true},
			{Name: "xt_set", Why: "rules that ask sets", Optional: true},
			{Name: "ipt_rpfilter", Why: "pods may not send with others' addresses", Optional: true,
				Case: withIPv4},
			{Name: "ip6t_rpfilter", Why: "pods may not send with others' addresses", Optional: true,
				Case: withIPv6},
			{Name: "ipip", Why: "tunl0", Case: calicoIPIP},
			{Name: "vxlan", Why: "vxlan.calico",
				Case: Case{"encapsulation vxlan",
					func(in Input) bool { return in.Node.Networking.Calico.EncapsulationMode == "vxlan" }}},
			{Name: "wireguard", Why: "wireguard.cali", Case: calicoWireGuard},
		},
		Sysctls: append(forwarding(),
			Sysctl{Key: "net.ipv4.conf.all.rp_filter", Value: "0",
				Why:      "packets come from bpfout.cali; BPF checks the reverse path itself",
				Required: true, Case: calicoBPF},
			Sysctl{Key: "net.ipv4.conf.all.src_valid_mark", Value: "1", Why: "WireGuard between hosts",
				Case: calicoWireGuard}),
		Mounts:   []Mount{{What: "bpffs", Where: "/sys/fs/bpf", Type: "bpf", Case: calicoBPF}},
		Packages: []Package{{Name: "wireguard", On: "ubuntu", Case: calicoWireGuard}},
		Certificates: []Certificate{{Keypair: "calico-client", Dir: "/srv/kubernetes/calico",
			Files: []string{"ca.pem", "calico-client.pem", "calico-client-key.pem"},
			Mode:  "0600", When: "datastore etcd over https"}},
		Kubeconfig: "/etc/cni/net.d/calico-kubeconfig, written by its DaemonSet",
		Ports: []Port{
			{"tcp", 179, "BGP"},
			{"ip", 4, "IPIP"},
			{"udp", 4789, "VXLAN"},
			{"udp", 51820, "WireGuard"},
			{"udp", 51821, "WireGuard, IPv6"},
			{"tcp", 5473, "Typha"},
		},
		MTU: "Calico's: the smallest of the data interfaces less IPIP 20, VXLAN 50 (IPv6 70), WireGuard 60 " +
			"(IPv6 80)",
		IPv6:         true,
		Requires:     calicoRequires(),
		HealthChecks: calicoHealth(),
		Untestable:   calicoUntestable(),
		SharedHost:   ownLinks("cali*", "tunl*", "vxlan.calico", "vxlan-v6.calico", "wireguard.cali", "wg-v6.cali"),
		Residue:      calicoResidue(),
		Modes:        calicoModes(),
		TestedBy: []Proof{{"an etcd that requires client certificates accepts the installed ones",
			"test/e2e TestCalicoCertificatesOpenEtcd"},
			{"an etcd accepts a certificate that the node issues with a CA of the store, also after its renewal",
				"test/e2e TestCertificateIsIssuedAndRenewed"},
			{"its plugin supports the version of the conf that its installer writes, and reads the conf",
				"test/plugins TestPlugins"},
			{"pods of two nodes reach each other over VXLAN with the real calico-node and plugins, and etcd as " +
				"the datastore; verify names the sign of life that is missing", "test/e2e TestPodsTalkByCalico"},
			{"a switch to another network removes all that the real calico-node made, for IPv4 and IPv6, with " +
				"either iptables",
				"test/cleanup TestSwitchesFromDaemonsLeaveNothing"}},
		Untested: "IPIP, WireGuard, nftables mode, eBPF and the links of bandwidth limits (bwcali*): the " +
			"calico-node of the tests is built without cgo, and their kernel has no such links, so the names come " +
			"from Calico's source code only",
		Agents: []string{"calico-node"},
		Build:  buildCalico,
	}
}

var (
	calicoBPF = Case{"bpfEnabled",
		func(in Input) bool { return in.Node.Networking.Calico.BPFEnabled }}
	calicoWireGuard = Case{"wireguardEnabled", func(in Input) bool {
		on := in.Node.Networking.Calico.WireguardEnabled
		return on != nil && *on
	}}
	// calicoIPIP includes an empty encapsulationMode, because kOps' default on IPv4 is ipip.
	calicoIPIP = Case{"encapsulation ipip", func(in Input) bool {
		c := in.Node.Networking.Calico
		return in.V4 && encapsulates(c) && c.IPIPMode != "Never"
	}}
)

// calicoHealth returns the checks of what calico-node makes when it starts.
// https://docs.tigera.io/calico/latest/operations/troubleshoot/troubleshooting
func calicoHealth() []HealthCheck {
	vxlan := func(in Input) bool { return in.V4 && in.Node.Networking.Calico.EncapsulationMode == "vxlan" }
	return []HealthCheck{
		{Text: "calico-node has registered this node", Path: "/var/lib/calico/nodename",
			Missing: "calico-node never started here, or /var/lib/calico is not mounted into it: the plugin refuses " +
				"pods until then"},
		{Text: "its plugin can talk to the API", Path: "/etc/cni/net.d/calico-kubeconfig",
			Missing: "its init container install-cni has not finished"},
		{Text: "the IPIP device is up", Link: "tunl0", Kind: "ipip", Case: calicoIPIP,
			Missing: "Felix has not made the overlay: check that module ipip is loaded and that calico-node runs"},
		{Text: "the VXLAN device is up", Link: "vxlan.calico", Kind: "vxlan",
			Case:    Case{"encapsulation vxlan", vxlan},
			Missing: "Felix has not made the overlay: check that module vxlan is loaded and that calico-node runs"},
		{Text: "the WireGuard device is up", Link: "wireguard.cali", Kind: "wireguard", Case: calicoWireGuard,
			Missing: "traffic between nodes is not encrypted: check that module wireguard is loaded"},
		{Text: "its eBPF device is up", Link: "bpfin.cali", Case: calicoBPF,
			Missing: "Felix does not run its eBPF dataplane: it falls back to iptables on a kernel that is too old, " +
				"and kube-proxy is off"},
		felixReady(),
		podSign("cali*", "veth"),
	}
}

// calicoRequires returns which kernels the variants need.
//
// Calico's page asks for 5.10, but also lists RHEL 8 (4.18) and Debian 10 (4.19). So the iptables
// dataplane has no requirement here. Where eBPF cannot run, Felix falls back to iptables, and then
// no program serves the services, because kube-proxy is off. eBPF also works on RHEL kernels from
// 4.18.0-193 (8.2) on, and since Calico 3.32 from 4.18.0-305 (8.4) on.
// https://docs.tigera.io/calico/latest/operations/ebpf/install
func calicoRequires() Requires {
	newest := func(in Input) bool { // false if the documents have no version, because kOps then chooses it
		v, err := values.ParseVersion(in.Node.Networking.Calico.Version)
		return err == nil && v.AtLeast(3, 32) && calicoBPF.If(in)
	}
	return Requires{Source: "https://docs.tigera.io/calico/latest/getting-started/kubernetes/requirements",
		Variants: []Requires{
			Requires{Kernel: version(5, 3), Case: calicoBPF}.orRedHat("8.2"),
			Requires{Kernel: version(5, 10),
				Case: Case{"bpfEnabled of version 3.32 and newer", newest}}.orRedHat("8.4"),
			{Kernel: version(5, 13),
				Case: Case{"nftablesMode Enabled",
					func(in Input) bool { return in.Node.Networking.Calico.NFTablesMode == "Enabled" }}},
		}}
}

func encapsulates(c *networks.Calico) bool {
	return c.EncapsulationMode == "" || c.EncapsulationMode == "ipip"
}

// calicoUntestable: with the datastore Kubernetes an endpoint is kept at its Pod. An etcd keeps it
// by itself.
// https://github.com/projectcalico/calico/blob/master/libcalico-go/lib/backend/k8s/resources/workloadendpoint.go
func calicoUntestable() []Untestable {
	const source = "https://docs.tigera.io/calico/latest/reference/configure-cni-plugins"
	return []Untestable{
		{Why: "Calico keeps its endpoints at the API's Pods: its plugin refuses a pod that the API does not know",
			Instead: apiPods, Source: source,
			Case: Case{"datastore Kubernetes, without eBPF",
				func(in Input) bool { return in.Node.Networking.Calico.Etcd == nil && !calicoBPF.If(in) }}},
		{Why: "Calico's programs go by the endpoints that it keeps at the API's Pods, and serve the services before " +
			"any rule of this host", Source: "https://docs.tigera.io/calico/latest/operations/ebpf/troubleshoot-ebpf",
			Instead: apiPods + "; `calico-node -bpf nat dump` and `-bpf conntrack dump` in calico-node's pod here " +
				"show what its programs know", Case: calicoBPF},
	}
}
