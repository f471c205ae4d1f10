package network

import "github.com/netwright/netwright/pkg/cleanup"

// jaguar returns a row that serves only to remove what Jaguar left. Its controller, on
// OpenDaylight, changed the node's Open vSwitch from outside. The facts come from copies of its
// files (NodeListener.java of its controller). The names of its plugin and its conf are not known.
// Its agent on the node runs in no pod.
func jaguar() Network {
	return Network{
		Title: "OpenDaylight's controller drives the node's Open vSwitch; VXLAN between nodes",
		Docs:  "https://gitlab.com/sdnlab/jaguar",
		Lifecycle: Lifecycle{
			Gone:    "its source of 2018 is no longer published, and no release ever was",
			Instead: "ovnKubernetes or kubeOVN, which drive Open vSwitch too",
		},
		Conf: Conf{Writer: WriterUser},
		Ports: []Port{{"tcp", 6641, "OVSDB, from the controller"},
			{"udp", 4789, "VXLAN"}},
		MTU: "not known; VXLAN adds 50",
		Residue: cleanup.Residue{
			Others: []string{"Open vSwitch: bridge br0, if it has ports vxlan-<address with dashes> (the name is " +
				"anybody's): `ovs-vsctl --if-exists del-br br0`",
				"Open vSwitch: the manager that lets the controller in: `ovs-vsctl get-manager` says ptcp:6641, " +
					"`ovs-vsctl del-manager` closes it",
				"the link vxlan_sys_4789, which keeps its UDP port until the bridge is gone"},
		},
		Untested: "all of it: none of its programs is available, and it is not known how its plugin and its conf " +
			"are named",
	}
}
