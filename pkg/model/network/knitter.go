package network

import "github.com/netwright/netwright/pkg/cleanup"

// knitter returns the row of Knitter. Netwright prepares the node and waits for the conf, which a
// person writes and which only names the plugin. systemd units and no pods run its agent, so the
// residue has these units. Sources: https://github.com/ZTE/Knitter (docs/configuration.md, deploy,
// knitter-agent/domain).
func knitter() Network {
	return Network{
		Title: "several networks a pod on the host's Open vSwitch, VXLAN or VLAN; by an agent under systemd",
		Docs:  "https://github.com/ZTE/Knitter",
		Lifecycle: Lifecycle{
			// It uses the API's insecure port, which Kubernetes 1.20 removed.
			Last:     version(1, 19),
			Upstream: "abandoned: code of 2018, last commit in September 2020",
			Instead:  "multus with ovnKubernetes or kubeOVN",
			Note: "the insecure port: " +
				"https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-1.20.md",
		},
		Conf: Conf{Writer: WriterUser, File: "10-knitter.conf", Chain: []string{"knitter"},
			Awaited: "a person writes it: {\"name\": \"knitter\", \"type\": \"knitter\"}"},
		// /opt/cni/bin/knitter is the program that its documents call knitter-plugin.
		Plugins:    nil,
		Modules:    []Module{openvswitch(), Module{Name: "vxlan", Why: "overlay"}},
		Sysctls:    forwarding(),
		Kubeconfig: "none: the API's insecure port",
		Ports: []Port{{"udp", 6789, "VXLAN"}, {"tcp", 9527, "its manager"},
			{"tcp", 6001, "its monitor"},
			{"tcp", 2379, "its etcd"}},
		MTU: "1500, or host.mtu of /opt/knitter-agent/knitter.json (1400 in its sample)",
		SharedHost: ownLinks("br-int", "br-tun", "obr0", "br-nwnode-check").besides(Shared{Service: "openvswitch",
			Ignores: "nothing: it must run on the host"}),
		HealthChecks: []HealthCheck{{Text: "its agent's bridge", Link: "br-int"},
			podSign("vethO*", "veth")}, // knitter-agent/domain/ovs/ovs.go, VethNameOfBridge
		Residue: cleanup.Residue{
			Units: []string{"knitter-agent.service", "knitter-manager.service", "knitter-monitor.service"},
			OVS: []cleanup.OVSSelector{{Bridges: []string{"br-int", "br-tun", "obr0", "br-nwnode-check"},
				Tunnels: []string{"vxlan_sys_6789"}, Datapath: ovsDatapath}},
			Files: []string{"/opt/cni/bin/knitter",
				"/etc/systemd/system/knitter-agent.service", "/etc/systemd/system/knitter-manager.service",
				"/etc/systemd/system/knitter-monitor.service", "/opt/knitter-agent/", "/opt/knitter-manager/",
				"/opt/knitter-monitor/",
				"/root/nwnode/data-dir/", "/root/info/logs/nwnode/", "/etc/paasnw/paasnw_drivers.conf"},
			Others: []string{"/dev/shm/bridge, br0Bridge, brintBridge and recycle: gone with the next reboot",
				"what its manager holds in etcd"},
		},
		Untested: "what the plugin answers: its code is older than Go modules (GOPATH and vendor), no test builds " +
			"it, and its agent needs an API without authentication",
	}
}
