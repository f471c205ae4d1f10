package network

import (
	"strings"

	"github.com/netwright/netwright/pkg/cleanup"
)

const (
	antreaConf    = "10-antrea.conflist"
	antreaChained = "05-antrea.conflist" // another network's conf with antrea at its end; sorts before that conf
)

// antrea returns the row of Antrea. Netwright prepares the node and waits for the conf, which the
// init container writes. Open vSwitch runs in Antrea's pods. Sources:
// https://github.com/antrea-io/antrea v2.7.0 (build/images/scripts, docs/network-requirements.md,
// docs/os-issues.md, pkg/agent/config, pkg/agent/route, pkg/agent/types).
func antrea() Network {
	return Network{
		Title: "Open vSwitch with policy, by a DaemonSet; tunnels (geneve, vxlan, gre, stt), routes, WireGuard, " +
			"or policy only beside a cloud's network",
		Docs:      "https://antrea.io/docs/",
		Lifecycle: Lifecycle{First: version(1, 16), Note: "a release supports the four latest Kubernetes of its day"},
		Conf:      byDaemonSet(antreaConf, "antrea", "portmap", "bandwidth"),
		// The init container installs antrea.
		Plugins: []Plugin{reference("v0.8.0", "bandwidth", "host-local", "loopback", "portmap")},
		Modules: []Module{
			openvswitch(),
			{Name: "geneve", Why: "antrea-tun0", Case: antreaTunnel("geneve")},
			{Name: "vxlan", Why: "antrea-tun0", Case: antreaTunnel("vxlan")},
			{Name: "ip_gre", Why: "antrea-tun0", Case: antreaGRE},
			{Name: "wireguard", Why: "antrea-wg0", Case: antreaWireGuard},
			{Name: "esp4", Why: "IPsec", Case: antreaIPsec},
			{Name: "ifb", Why: "plugin bandwidth", Optional: true},
			{Name: "sch_tbf", Why: "plugin bandwidth", Optional: true},
			{Name: "sch_ingress", Why: "plugin bandwidth", Optional: true},
		},
		Sysctls:    forwarding(), // antrea-agent sets the sysctls of antrea-gw0 itself
		Kubeconfig: "none on the host: its DaemonSet uses the service account",
		Ports: []Port{
			{"udp", 6081, "geneve"}, {"udp", 4789, "vxlan"},
			{"tcp", 7471, "stt"}, {"ip", 47, "gre"},
			{"udp", 51820, "WireGuard"}, {"ip", 50, "IPsec ESP"},
			{"udp", 500, "IPsec IKE"}, {"udp", 4500, "IPsec through NAT"},
			{"tcp", 10349, "its controller"}, {"tcp", 10350, "its agent"},
			{"udp", 10351, "memberlist, and TCP"},
		},
		MTU: "that of the node's own link less 50 (geneve, vxlan), 42 (gre), 60 (WireGuard), 20 more over IPv6, 38 " +
			"more with IPsec; 0 without a tunnel",
		IPv6: true,
		Requires: Requires{Kernel: version(4, 6), Why: "Open vSwitch with connection tracking zones",
			Source: "https://github.com/antrea-io/antrea/blob/v2.7.0/docs/getting-started.md"},
		SharedHost: ownLinks("antrea-*", "br-int", "ovs-system", "genev_sys_*", "vxlan_sys_*", "gre_sys",
			"stt_sys_*").besides(ovsInPods()),
		HealthChecks: []HealthCheck{
			{Text: "its gateway", Link: "antrea-gw0",
				Missing: "check that the kernel has openvswitch, then the log of antrea-agent; a restart of " +
					"systemd-networkd removes its address"},
			{Text: "its link to other nodes", Link: "antrea-wg0", Kind: "wireguard",
				Case: antreaWireGuard},
			{Text: "its agent answers the plugin", Path: "/run/antrea/cni.sock"},
		},
		Residue: antreaResidue(),
		Untested: "what the plugin answers, and that pods reach each other: no test builds the plugin, because " +
			"its module has replace lines and is not available through the module proxy",
		Agents: []string{"antrea-agent", "antrea-ovs"},
		Build:  buildAntrea,
	}
}

func antreaTunnel(kind string) Case {
	return Case{"tunnelType " + kind, func(in Input) bool {
		a := in.Node.Networking.Antrea
		return a.Tunnels() && a.TunnelType == kind && !antreaIPsec.If(in)
	}}
}

var (
	antreaGRE = Case{"tunnelType gre, or ipsec",
		func(in Input) bool { return antreaTunnel("gre").If(in) || antreaIPsec.If(in) }}
	antreaWireGuard = Case{"trafficEncryptionMode wireGuard",
		func(in Input) bool { return in.Node.Networking.Antrea.WireGuard() }}
	antreaIPsec = Case{"trafficEncryptionMode ipsec",
		func(in Input) bool { return in.Node.Networking.Antrea.TrafficEncryptionMode == "ipsec" }}
)

// antreaResidue returns what Antrea leaves. Its bridge is removed while ovs-vswitchd in its pods
// still runs, or else together with the datapath. The gateway and the tunnel are ports of the
// bridge.
func antreaResidue() cleanup.Residue {
	ovs := ovsMark("br-int")
	// The antrea-l7-tap ports belong to L7NetworkPolicy. A port that no selector names would keep
	// the whole datapath.
	ovs.Ports = []string{"antrea-gw0", "antrea-l7-tap[01]"}
	ovs.Socket = "/run/antrea/openvswitch/db.sock"
	return cleanup.Residue{
		Portmap: []string{"antrea"},
		// The first rule is for Egress (SNATIPMarkMask). The second is for answers in hybrid mode
		// (EgressNoEncapReturnToRemoteMark of pkg/agent/types/net.go). Its table has one route,
		// through the gateway.
		Rules:  []cleanup.RuleSelector{{Mask: 0xff, Table: 101, Last: 120}, {Mark: 1 << 30, Mask: 1 << 30, Table: 141}},
		Routes: []cleanup.RouteSelector{{Link: "antrea-*", Table: allTables}},
		Chains: []cleanup.ChainSelector{{Chain: "ANTREA-*"}, {Comment: "Antrea: *"}},
		Tables: []cleanup.TableSelector{{Family: "ip", Name: "antrea"}, {Family: "ip6", Name: "antrea"}},
		IPSets: []string{"ANTREA-*", "LOCAL-FLEXIBLE-IPAM-POD-IP", "LOCAL-FLEXIBLE-IPAM-POD-IP6", "CLUSTER-NODE-IP",
			"CLUSTER-NODE-IP6"},
		OVS: []cleanup.OVSSelector{ovs},
		Links: []cleanup.LinkSelector{{Name: "antrea-wg0", Kind: "wireguard"},
			{Name: "antrea-mc-wg0", Kind: "wireguard"}, {Name: "antrea-egress0", Kind: "dummy"},
			{Name: "antrea-ingress0", Kind: "dummy"}, {Name: "antrea-ext.*", Kind: "vlan"},
			{Name: "[0-9a-z]*-" + hexDigits(6), Kind: "veth", Master: ovsDatapath}},
		Files: []string{"/etc/cni/net.d/" + antreaChained,
			"/etc/cni/net.d/10-antrea.conf", "/opt/cni/bin/antrea", "/run/antrea/", "/var/log/antrea/",
			"/etc/sysctl.d/99-zzzz-antrea.conf", "/var/lib/cni/networks/antrea/", "/var/lib/cni/results/antrea-*"},
		Others: []string{"an uplink that it renamed to NAME~ (bridging, secondary networks): first back its " +
			"addresses, then its name", "with IPsec: XFRM states and policies of its strongSwan",
			"beside AWS' plugin: a rule in AWS-CONNMARK-CHAIN-0"},
	}
}

// hexDigits returns a pattern for n lower-case hex digits.
func hexDigits(n int) string { return strings.Repeat("[0-9a-f]", n) }

func buildAntrea(in Input, b *Built) error {
	a := in.Node.Networking.Antrea
	if a.TrafficEncapMode == "networkPolicyOnly" {
		b.Wait = in.waitConf(antreaChained, "its DaemonSet writes it: the cloud's conf with antrea at its end")
	}
	if a.TrafficEncapMode == "noEncap" || a.TrafficEncapMode == "hybrid" {
		b.noteRouted(in)
	}
	if a.ProxyAll {
		b.note(Info, in.Origin("spec.networking.antrea.proxyAll"),
			"antrea serves the services: kube-proxy may go (kubeProxy.enabled: false)")
	}
	if a.SecondaryNetwork {
		b.note(Warning, in.Origin("spec.networking.antrea.secondaryNetwork"),
			"the link that antrea bridges for secondary networks is renamed NAME~ and its addresses move to the "+
				"bridge: the node's connections by it pause")
	}
	return b.fitMTU(in, "spec.networking.antrea.defaultMTU", a.DefaultMTU, antreaAdds(in))
}

// noteRouted warns that without a tunnel the cloud drops packets of pods, because it did not assign
// their addresses.
func (b *Built) noteRouted(in Input) {
	switch in.Node.CloudProvider {
	case "aws":
		b.note(Warning, in.Origin("spec.networking.antrea.trafficEncapMode"),
			"without a tunnel EC2 drops pods' packets until the source/destination check of every node is off")
	case "azure":
		b.note(Warning, in.Origin("spec.networking.antrea.trafficEncapMode"),
			"without a tunnel Azure drops pods' packets: use trafficEncapMode: encap there")
	}
}

// antreaAdds returns the overhead of Antrea's tunnel (pkg/agent/config/node_config.go). For STT
// Antrea subtracts nothing. In hybrid mode nodes of one subnet have no tunnel.
func antreaAdds(in Input) encapsulation {
	a := in.Node.Networking.Antrea
	var out encapsulation
	switch {
	case a.WireGuard():
		out = encapsulation{by: "WireGuard", sure: 60}
	case antreaIPsec.If(in):
		out = encapsulation{by: "GRE in IPsec", sure: 42 + 38}
	case !a.Tunnels() || a.TunnelType == "stt":
		return encapsulation{}
	case a.TunnelType == "gre":
		out = encapsulation{by: "GRE", sure: 42}
	default:
		out = encapsulation{by: a.TunnelType, sure: 50}
	}
	if overIPv6(in) {
		out.sure += 20
	}
	if a.TrafficEncapMode == "hybrid" {
		return encapsulation{most: out.sure}
	}
	return out
}
