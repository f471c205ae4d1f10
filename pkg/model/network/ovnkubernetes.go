package network

import (
	"fmt"
	"net/netip"

	"github.com/netwright/netwright/pkg/cleanup"
)

// ovnKubernetes returns the row of OVN-Kubernetes, which serves the services itself. Netwright
// prepares the node and waits for the conf, which ovnkube-node writes as the last step of its
// start. If the conf directory is missing, ovnkube-node creates it with mode 0; so the agent
// creates it before. Sources: https://github.com/ovn-kubernetes/ovn-kubernetes v1.3.0
// (go-controller/pkg/{config,node,types}, docs/features/requirements.md, helm).
func ovnKubernetes() Network {
	return Network{
		Title: "OVN with policy, egress and user-defined networks, by DaemonSets; Geneve between nodes, services " +
			"in place of kube-proxy",
		Docs: "https://ovn-kubernetes.io/",
		Lifecycle: Lifecycle{First: version(1, 16),
			Note: "1.0 needs Kubernetes 1.29, 1.1 1.33, 1.2 1.34, each with its own OVN"},
		Conf: byDaemonSet("10-ovn-kubernetes.conf", "ovn-k8s-cni-overlay").awaited(
			"ovnkube-node writes it as the last step of its start: that is the node's readiness"),
		Plugins: []Plugin{reference("v0.2.0", "loopback")}, // its DaemonSet installs ovn-k8s-cni-overlay
		Modules: []Module{openvswitch(), {Name: "geneve", Why: "between nodes"}, brNetfilter(false),
			{Name: "esp4", Why: "IPsec",
				Case: Case{"ipsec",
					func(in Input) bool { return in.Node.Networking.OVNKubernetes.IPsec }}}},
		Sysctls: append(forwarding(), bridgeNetfilter()...),
		Packages: []Package{{Name: "openvswitch-switch", On: "debian", Case: ovnHostOVS},
			{Name: "openvswitch-switch", On: "ubuntu", Case: ovnHostOVS}},
		Kubeconfig: "kubelet's own, /etc/kubernetes/kubelet.conf, to ask for a certificate of the node's; then " +
			"/run/ovn-kubernetes/certs",
		Ports: []Port{
			{"udp", 6081, "Geneve (encapPort)"},
			{"tcp", 6641, "OVN northbound, central mode"},
			{"tcp", 6642, "OVN southbound, central mode"},
			{"tcp", 9107, "health of egress addresses"}, {"ip", 50, "IPsec ESP"},
			{"udp", 500, "IPsec IKE"}, {"udp", 4500, "IPsec through NAT"},
		},
		MTU: fmt.Sprintf("`mtu`, 1400 by default; the link needs %d more, %d over IPv6, or ovnkube-node does not "+
			"start", ovnOverhead, ovnOverhead6),
		IPv6: true,
		SharedHost: ownLinks("br-int", "br-ex", "ovn-k8s-mp*", "ovs-system", "genev_sys_*").besides(
			Shared{Service: "NetworkManager",
				Ignores: "the gateway's interface, which it would take back from the bridge"},
			Shared{Service: "kube-proxy", Ignores: "the node: it does not run beside it"}),
		HealthChecks: []HealthCheck{
			{Text: "the node's port in the pods' network", Link: "ovn-k8s-mp0",
				Missing: "ovn-controller is not connected, or stale ovs: `ovs-vsctl show` names ports with errors"},
			{Text: "its daemon answers the plugin", Path: "/run/ovn-kubernetes/cni/ovn-cni-server.sock"},
			{Text: "its rules", Table: "inet ovn-kubernetes"},
		},
		Untestable: []Untestable{{Why: "OVN-Kubernetes gives addresses to the API's Pods, by their annotations: its plugin " +
			"refuses a pod that the API does not know",
			Instead: apiPods + "; `ovnkube-trace` shows the way of their packets",
			Source:  "https://ovn-kubernetes.io/troubleshooting/ovnkube-trace/"}},
		Residue: ovnKubernetesResidue(),
		Untested: "what the plugin answers, and that pods reach each other: no test builds the plugin, because " +
			"its module has replace lines and no tags of its own, and is not available through the module proxy",
		// The names come from helm/ovn-kubernetes/charts/ovnkube-node and ovnkube-single-node-zone.
		// ovs-daemons is not listed, because Open vSwitch may run: it is asked to remove the
		// bridges.
		Agents: []string{"ovn-controller", "ovnkube-controller", "ovnkube-node"},
		Build:  buildOVNKubernetes,
	}
}

// The size of the Geneve header over IPv4 and IPv6, from go-controller/pkg/types/const.go.
const (
	ovnOverhead  = 58
	ovnOverhead6 = 78
)

var ovnHostOVS = Case{"hostOVS",
	func(in Input) bool { return in.Node.Networking.OVNKubernetes.HostOVS }}

// ovnKubernetesResidue returns what OVN-Kubernetes leaves. `ovnkube --cleanup-node` does not remove
// br-int, the gateway's bridge, ovn-k8s-mp0, the rules and the Geneve port.
func ovnKubernetesResidue() cleanup.Residue {
	ovs := ovsMark("br-int", "br-local")
	ovs.Ports = []string{"ovn-k8s-mp*"}
	ovs.Keys = []string{"ovn-encap-type", "ovn-encap-ip", "ovn-remote", "ovn-remote-probe-interval",
		"ovn-bridge-remote-probe-interval", "ovn-openflow-probe-interval", "ovn-is-interconn", "ovn-monitor-all",
		"ovn-ofctrl-wait-before-clear", "ovn-enable-lflow-cache", "ovn-limit-lflow-cache",
		"ovn-memlimit-lflow-cache-kb", "ovn-set-local-ip", "ovn-bridge-mappings", "bundle-idle-timeout"}
	return cleanup.Residue{
		// The second name is br and the name of the interface: breth0, brens5, breno1.
		Uplinks: []cleanup.UplinkSelector{{Link: "br-ex", Kind: "openvswitch"}, {Link: "bre*", Kind: "openvswitch"}},
		// The first and the last are ranges of the masquerade subnet. The host has an address in
		// it, and its route to the services uses that address (pkg/node:
		// setNodeMasqueradeIPOnExtBridge, configureSvcRouteViaInterface). The wider ranges belong
		// to user-defined networks.
		Added: []netip.Prefix{netip.MustParsePrefix("169.254.169.0/29"), netip.MustParsePrefix("169.254.0.0/17"),
			netip.MustParsePrefix("fd69::/112")},
		Rules: []cleanup.RuleSelector{{Priority: 30, Mark: 0x1745ec, Table: 7},
			// These are for egress services and egress addresses.
			{Priority: 5000, Pods: true}, {Priority: 5999, Pods: true}, {Priority: 6000, Pods: true}},
		// Table 7 has the ranges of the services (initMgmPortRoutingRules).
		Routes: []cleanup.RouteSelector{{Link: "ovn-k8s-mp*", Table: allTables}},
		Chains: []cleanup.ChainSelector{{Chain: "OVN-KUBE-*"}, {Table: "filter", Chain: "FORWARD", In: "ovn-k8s-mp0"},
			{Table: "filter", Chain: "FORWARD", Out: "ovn-k8s-mp0"}},
		Tables: []cleanup.TableSelector{{Family: "inet", Name: "ovn-kubernetes"}},
		OVS:    []cleanup.OVSSelector{ovs},
		Links: []cleanup.LinkSelector{{Name: "mp*-udn-vrf", Kind: "vrf"},
			{Name: hexDigits(15), Kind: "veth", Master: ovsDatapath}},
		Sysctls: []cleanup.SysctlSelector{{Key: "net.ipv4.conf.all.src_valid_mark", Wrote: "1", Default: "0"}},
		Files: []string{"/etc/cni/net.d/ovnkube-*",
			"/opt/cni/bin/ovn-k8s-cni-overlay", "/run/ovn/", "/run/ovn-kubernetes/", "/var/lib/ovn/",
			"/var/lib/ovn-ic/", "/etc/ovn/",
			"/var/log/ovn/", "/var/log/ovn-kubernetes/", "/var/lib/cni/results/ovn-kubernetes-*"},
		Others: []string{"rules of FORWARD that accept the pods' and services' ranges and 169.254.169.1",
			"/etc/origin/openvswitch and /etc/openvswitch: the database, if no other Open vSwitch uses it",
			"with IPsec: XFRM states and policies, and /etc/openvswitch/keys"},
	}
}

func buildOVNKubernetes(in Input, b *Built) error {
	o := in.Node.Networking.OVNKubernetes
	overhead := ovnOverhead
	if overIPv6(in) {
		overhead = ovnOverhead6
	}
	if err := b.fitMTU(in, "spec.networking.ovnKubernetes.mtu", o.MTU,
		encapsulation{by: "Geneve", sure: overhead}); err != nil {
		return fmt.Errorf("%w; ovnkube-node does not start with this", err)
	}
	b.note(Info, in.NetworkOrigin(),
		"ovnKubernetes serves the services: kube-proxy must not run on this node (kubeProxy.enabled: false)")
	switch {
	case o.HostOVS:
		b.note(Info, in.Origin("spec.networking.ovnKubernetes.hostOVS"),
			"Open vSwitch runs on the host: openvswitch.service must be enabled, and the DaemonSet ovs-node left out; "+
				"both together take each other's ports")
	default:
		b.note(Info, in.NetworkOrigin(),
			"Open vSwitch runs in the DaemonSet ovs-node: openvswitch-switch.service must not run on the host, or say "+
				"hostOVS: true")
	}
	if o.GatewayMode != "disabled" {
		gateway := o.Interface
		if gateway == "" {
			gateway = in.Facts.Uplink
		}
		b.note(Warning, in.Origin("spec.networking.ovnKubernetes.gatewayMode"),
			"at its start %s joins a bridge, which takes its addresses and routes: the node's connections pause, and "+
				"kubelet's --node-ip must be the address that moves", gateway)
	}
	return nil
}
