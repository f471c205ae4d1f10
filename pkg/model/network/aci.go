package network

import "github.com/netwright/netwright/pkg/cleanup"

const (
	aciConf   = "01-opflex-cni.conf"
	aciUplink = 1600 // the least MTU of the uplink: pods' frames to the leaf have a VXLAN header (acc_provision.py)
)

// aci returns the row of Cisco ACI. Netwright prepares the node and waits for the conf, which
// aci-containers-host writes. The fabric of switches routes between nodes. Sources:
// https://github.com/noironetworks/aci-containers (docker/launch-hostagent.sh, pkg/hostagent) and
// https://github.com/noironetworks/acc-provision.
func aci() Network {
	return Network{
		Title:     "Cisco ACI: the leaf switches route for pods, by VXLAN and OpFlex; policy in the APIC",
		Docs:      "https://github.com/noironetworks/acc-provision/tree/master/doc",
		Lifecycle: Lifecycle{First: version(1, 10)},
		Conf:      byDaemonSet(aciConf, "opflex-agent-cni").awaited("its DaemonSet aci-containers-host writes it"),
		// The init container installs opflex-agent-cni and loopback. opflex-agent-cni-ipam is only
		// a name in the conf, not a program.
		Plugins: nil,
		Modules: []Module{openvswitch(), Module{Name: "vxlan", Why: "to the leaf, port 8472"},
			Module{Name: "geneve", Why: "the log of dropped packets, on this node only", Optional: true},
			Module{Name: "8021q", Why: "the VLANs of infrastructure and node"}},
		Sysctls:    forwarding(),
		Kubeconfig: "none on the host: its DaemonSet uses the service account",
		Ports: []Port{
			{"udp", 8472, "VXLAN, to the fabric"},
			{"tcp", 8009, "OpFlex, to the leaf"},
			{"ip", 2, "IGMP: each group of endpoints has a multicast group"},
		},
		MTU:        "interface_mtu, or that of the infrastructure VLAN's link less 100; the uplink needs 1600",
		IPv6:       true, // dual stack, bare metal, from Kubernetes 1.21 on
		SharedHost: ownLinks("veth*", "pi-veth*", "pa-veth*").besides(ovsInPods()),
		HealthChecks: []HealthCheck{{Text: "its agent answers the plugin", Path: "/run/aci-containers-ep-rpc.sock"},
			// This is the status-port of pkg/hostagent/config.go.
			{Text: "its agent is well", URL: "http://localhost:8090/status",
				Missing: "aci-containers-host does not run here: look at its log; status-port 0 turns this address off"},
			podSign("veth*", "veth")},
		Residue: aciResidue(),
		Untested: "what the plugin answers, and that pods reach each other: its module builds only from a " +
			"checkout (relative replace lines), and it works only with an APIC and its leaf switches",
		Agents: []string{"aci-containers-host", "opflex-agent"},
		Build:  buildACI,
	}
}

// aciResidue returns what ACI leaves, because deleting its manifest undoes nothing on a node. It
// has nothing that a person configured by hand, such as VLAN links and the file of the DHCP client.
func aciResidue() cleanup.Residue {
	return cleanup.Residue{
		OVS: []cleanup.OVSSelector{{Bridges: []string{"br-int", "br-access"}, Tunnels: []string{"vxlan_sys_8472"},
			Datapath: ovsDatapath}},
		Links: []cleanup.LinkSelector{{Name: "veth_host", Kind: "veth"}, {Name: "veth_host_ac", Kind: "veth"}},
		Chains: []cleanup.ChainSelector{{Table: "nat", Chain: "OUTPUT", Comment: "drop-log-geneve-redirect"},
			{Table: "filter", Chain: "FORWARD", In: "veth_host"}},
		Files: []string{"/etc/cni/net.d/10-opflex-cni.conf",
			"/opt/cni/bin/opflex-agent-cni", "/opt/cni/bin/netop-cni",
			"/run/multus/cni/net.d/" + aciConf, "/run/multus/cni/net.d/10-opflex-cni.conf",
			"/var/lib/opflex-agent-ovs/", "/var/lib/aci-containers/", "/var/lib/netop-cni/",
			"/run/aci-containers-*.sock",
			"/var/log/netopcni.log"},
		Others: []string{"the plugin netop-cni inside another network's conflist (chained mode)",
			"the route 224.0.0.0/4 over the infrastructure VLAN (static, metric 401), and the VLAN links: they belong " +
				"to who made the node",
			"/etc/openvswitch/conf.db, if no other Open vSwitch uses it", "the node in the APIC (`acc-provision -d`)"},
	}
}

func buildACI(in Input, b *Built) error {
	for _, l := range in.Facts.Links {
		if l.Name == in.Facts.Uplink && l.MTU > 0 && l.MTU < aciUplink {
			b.note(Warning, in.NetworkOrigin(),
				"link %s has MTU %d, and ACI needs %d on the uplink: its agent ends with \"Uplink MTU must be >= %d\"",
				l.Name, l.MTU, aciUplink, aciUplink)
		}
	}
	// Without a configured MTU the daemon subtracts 100. It needs at least 50
	// (interface_mtu_headroom, acc_provision.py).
	if err := b.fitMTU(in, "spec.networking.aci.mtu", in.Node.Networking.ACI.MTU,
		encapsulation{by: "VXLAN", sure: 50, most: 100}); err != nil {
		return err
	}
	b.note(Info, in.NetworkOrigin(),
		"the kernel joins 20 multicast groups and ACI gives one to each endpoint group: with more of them put "+
			"net.ipv4.igmp_max_memberships into sysctlParameters")
	return nil
}
