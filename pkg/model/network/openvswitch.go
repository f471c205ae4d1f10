package network

import "github.com/netwright/netwright/pkg/cleanup"

// The things that networks on Open vSwitch share. Open vSwitch has two parts. The kernel part is
// the module openvswitch: one datapath, ovs-system, with a port for each kind of tunnel. The user
// part is ovs-vswitchd and ovsdb-server. They run on the host or in the network's pods, never in
// both.
// https://docs.openvswitch.org/en/latest/intro/install/general/

// ovsDatapath is the name of the one datapath that ovs-vswitchd makes for all bridges.
const ovsDatapath = "ovs-system"

// openvswitch returns the kernel module of Open vSwitch.
func openvswitch() Module {
	return Module{Name: "openvswitch", Why: "its datapath; its pods cannot load what the host has not"}
}

// ovsInPods returns what the host must leave alone if the network brings its own Open vSwitch.
func ovsInPods() Shared {
	return Shared{Service: "openvswitch",
		Ignores: "the datapath: stopped and disabled on the host (openvswitch-switch.service, openvswitch.service); a " +
			"second ovs-vswitchd takes the ports of the first"}
}

// ovsMark returns the selector for bridges, as patterns, and for the tunnels' ports. These ports
// keep their UDP port bound after the datapath has gone: a leftover genev_sys_6081 breaks the next
// network with Geneve (https://github.com/kubeovn/kube-ovn/issues/5057). Their names end with the
// UDP port, which users may choose. The datapath is removed when no bridge uses it.
func ovsMark(bridges ...string) cleanup.OVSSelector {
	return cleanup.OVSSelector{Bridges: bridges,
		Tunnels: []string{"genev_sys_*", "vxlan_sys_*", "gre_sys", "stt_sys_*"}, Datapath: ovsDatapath}
}
