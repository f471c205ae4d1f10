package network

import "github.com/netwright/netwright/pkg/cleanup"

// kVSwitchConf ends in .json. Runtimes read such a file, but cleanups that look for *.conf* miss
// it.
const kVSwitchConf = "10-k-vswitch.json"

// kVSwitch returns the row of k-vswitch. Netwright prepares the node and waits for the conf, which
// k-vswitchd writes. Sources: https://github.com/k-vswitch/k-vswitch v0.0.2 (cmd/k-vswitchd,
// cmd/k-vswitch-cni).
func kVSwitch() Network {
	return Network{
		Title: "the host's Open vSwitch, VXLAN or GRE between nodes, policy in its flows; by a DaemonSet",
		Docs:  "https://github.com/k-vswitch/k-vswitch",
		Lifecycle: Lifecycle{
			Last:     version(1, 21), // it uses custom resources of v1beta1, which 1.22 does not have
			Upstream: "abandoned in June 2019, never meant for production",
			Instead:  "ovnKubernetes, kubeOVN or antrea",
		},
		Conf: byDaemonSet(kVSwitchConf, "k-vswitch-cni").awaited(
			"its DaemonSet k-vswitchd writes it, without a cniVersion (0.1.0)"),
		Plugins: []Plugin{{Asset: CNIPlugins, Members: []string{"host-local", "loopback"}, Minimum: "v0.6.0",
			Source: "https://github.com/k-vswitch/k-vswitch"}},
		Modules: []Module{openvswitch(), brNetfilter(false),
			Module{Name: "vport_vxlan", Why: "overlay0", Optional: true,
				Case: kVSwitchOverlay("vxlan")},
			Module{Name: "vport_gre", Why: "overlay0", Optional: true,
				Case: kVSwitchOverlay("gre")}},
		Sysctls:    append(forwarding(), bridgeNetfilter()...),
		Kubeconfig: "none on the host: its DaemonSet uses the service account",
		Ports: []Port{{"udp", 4789, "overlay vxlan"},
			{"ip", 47, "overlay gre"}},
		MTU: "1500 for pods, whatever is asked for: the links between nodes need 1550",
		SharedHost: ownLinks("k-vswitch0", "cluster-wide", "veth*").besides(Shared{Service: "openvswitch",
			Ignores: "nothing: it must run on the host, with ovs-vsctl in the path of the plugin"}),
		HealthChecks: []HealthCheck{{Text: "its bridge, with the pods' gateway", Link: "k-vswitch0"},
			podSign("veth*", "veth")}, // cmd/k-vswitch-cni/plugin.go, setupVeth
		Residue: cleanup.Residue{
			OVS: []cleanup.OVSSelector{ovsMark("k-vswitch0")},
			// The two rules with a comment also masquerade packets of the host itself to other
			// networks.
			Chains: []cleanup.ChainSelector{{Table: "filter", Chain: "FORWARD", Out: "k-vswitch0"},
				{Table: "filter", Chain: "FORWARD", In: "k-vswitch0"},
				{Table: "nat", Chain: "POSTROUTING", Out: "! k-vswitch0"},
				{Table: "nat", Chain: "POSTROUTING", Comment: "k-vswitch: SNAT for outbound traffic from *"}},
			Files: []string{"/opt/cni/bin/k-vswitch-cni",
				"/var/lib/cni/networks/k-vswitch-cni/", "/var/lib/cni/results/k-vswitch-cni-*"},
			Others: []string{"its bridge is in fail mode secure: until it goes, pods without k-vswitchd have no " +
				"traffic at all"},
		},
		Untested: "what the plugin answers, and that pods reach each other: no test builds the plugin, and it " +
			"answers only beside ovs-vswitchd and k-vswitchd",
		Agents: []string{"k-vswitchd"},
	}
}

func kVSwitchOverlay(kind string) Case {
	return Case{"overlay " + kind,
		func(in Input) bool { return in.Node.Networking.KVSwitch.Overlay == kind }}
}
