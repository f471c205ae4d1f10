package network

import "github.com/netwright/netwright/pkg/cleanup"

// ovn4nfv returns the row of ovn4nfv (Nodus). Netwright prepares the node and waits for the conf,
// which the DaemonSet writes. Confs of many other networks sort before it. Sources:
// https://github.com/akraino-edge-stack/icn-nodus (deploy, internal/pkg/config,
// internal/pkg/network/iptables.go).
func ovn4nfv() Network {
	return Network{
		Title: "Nodus: OVN with several networks and service chains, Geneve between nodes; Open vSwitch in its pods",
		Docs:  "https://github.com/akraino-edge-stack/icn-nodus/tree/master/doc",
		Lifecycle: Lifecycle{
			Upstream: "dormant since August 2022 (v6.0.0, Kubernetes 1.23)",
			Instead:  "ovnKubernetes or kubeOVN, with multus for further networks",
		},
		Conf: byDaemonSet("20-network.conf", "ovn4nfvk8s-cni").awaited(
			"its DaemonSet ovn4nfv-cni writes it; any conf of an earlier name wins over it"),
		// The image installs ovn4nfvk8s-cni and all reference plugins of 1.0.1.
		Plugins:    nil,
		Modules:    []Module{openvswitch(), Module{Name: "geneve", Why: "between nodes"}},
		Sysctls:    forwarding(),
		Kubeconfig: "/etc/cni/net.d/ovn4nfv-k8s.d/ovn4nfv-k8s.kubeconfig, by its DaemonSet",
		Ports: []Port{{"udp", 6081, "Geneve"}, {"tcp", 6641, "OVN northbound"},
			{"tcp", 6642, "OVN southbound"},
			{"tcp", 50000, "its operator"}},
		MTU:        "1400: 58 of Geneve below 1500, and room",
		IPv6:       true,
		SharedHost: ownLinks("br-int", "ovn4nfv0-*").besides(ovsInPods()),
		HealthChecks: []HealthCheck{{Text: "its agent takes pods",
			Path: "/run/ovn4nfv-k8s-plugin/cniserver/ovn4nfv-k8s-plugin-cni-server.sock"},
			{Text: "the node's own port, with its gateway", Link: "ovn4nfv0-*"}},
		Residue: cleanup.Residue{
			OVS: []cleanup.OVSSelector{{Bridges: []string{"br-int"}, Tunnels: []string{"genev_sys_6081"},
				Datapath: ovsDatapath, Keys: []string{"ovn-remote",
					"ovn-remote-probe-interval", "ovn-openflow-probe-interval", "ovn-encap-type", "ovn-encap-ip",
					"ovn-bridge-mappings"}}},
			Chains: []cleanup.ChainSelector{{Table: "nat", Chain: "POSTROUTING", Out: "ovn4nfv0-*"}},
			Files: []string{"/etc/cni/net.d/ovn4nfv-k8s.d/",
				"/etc/openvswitch/ovn4nfv_k8s.conf", "/opt/cni/bin/ovn4nfvk8s-cni",
				"/run/ovn4nfv-k8s-plugin/", "/etc/origin/openvswitch/conf.db", "/var/log/ovn/",
				"/var/lib/cni/results/ovn4nfv-k8s-plugin-*"},
			Others: []string{"rules without a mark of its own: INPUT accepts of ports 6081, 6641, 6642, 8080 and " +
				"50000, FORWARD accepts of its subnet, POSTROUTING MASQUERADE of its subnet and of the default link",
				"bridges br-<name> of provider networks, and their VLAN links: their names are the documents' own",
				"a conf.db that stays in /etc/origin/openvswitch gives the next start its old bridges"},
		},
		// nfn-agent adds its rules again every 5 s. ovn4nfv copies its files when it starts
		// (deploy/ovn4nfv-k8s-plugin.yaml, deploy/ovn-daemonset.yaml).
		Agents: []string{"nfn-agent", "ovn-controller", "ovn4nfv"},
		Untested: "what the plugin answers, and that pods reach each other: no test builds the plugin, and it " +
			"answers only beside OVN's pods and cert-manager",
	}
}
