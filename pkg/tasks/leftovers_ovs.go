package tasks

import (
	"context"

	"github.com/netwright/netwright/pkg/host"
)

// OVSMark names what a network has in Open vSwitch. While ovs-vswitchd runs it is asked to take its bridges away; what is left in the kernel
// goes when nothing of others is in the datapath: tunnel devices first, which keep their UDP port, then the datapath.
type OVSMark struct {
	Socket   string   `json:"socket,omitempty"`   // of ovsdb-server; "" is /run/openvswitch/db.sock
	Bridges  []string `json:"bridges,omitempty"`  // patterns
	Keys     []string `json:"keys,omitempty"`     // of external_ids and other_config of the table Open_vSwitch
	Tunnels  []string `json:"tunnels,omitempty"`  // genev_sys_6081
	Datapath string   `json:"datapath,omitempty"` // ovs-system
}

func findOVS(context.Context, host.View, Leftovers, Scope) ([]Found, error) { return nil, nil }
