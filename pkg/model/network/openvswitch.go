package network

import "github.com/netwright/netwright/pkg/cleanup"

// What networks on Open vSwitch share. Its kernel half is the module openvswitch with one datapath,
// ovs-system, and a port a kind of tunnel; its user half, ovs-vswitchd and ovsdb-server, runs on
// the host or in the network's pods, never both.
// https://docs.openvswitch.org/en/latest/intro/install/general/

// ovsDatapath is what ovs-vswitchd calls the one datapath that it makes for all bridges.
const ovsDatapath = "ovs-system"

// openvswitch is the kernel's half.
func openvswitch() Module {
	return Module{Name: "openvswitch", Why: "its datapath; its pods cannot load what the host has not"}
}

// ovsInPods is what the host leaves alone where the network brings its own Open vSwitch.
func ovsInPods() Shared {
	return Shared{Service: "openvswitch",
		Ignores: "the datapath: stopped and disabled on the host (openvswitch-switch.service, openvswitch.service); a " +
			"second ovs-vswitchd takes the ports of the first"}
}

// ovsMark names bridges, by patterns, and the tunnels' ports, which keep their UDP port bound when
// the datapath has gone: a left genev_sys_6081 breaks the next network of Geneve
// (https://github.com/kubeovn/kube-ovn/issues/5057). Their names end with that port, which networks
// let their users choose. The datapath goes once no bridge is on it.
func ovsMark(bridges ...string) cleanup.OVSSelector {
	return cleanup.OVSSelector{Bridges: bridges,
		Tunnels: []string{"genev_sys_*", "vxlan_sys_*", "gre_sys", "stt_sys_*"}, Datapath: ovsDatapath}
}
