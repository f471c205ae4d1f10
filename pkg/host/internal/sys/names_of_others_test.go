package sys_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/model/network"
)

// An undo leaves alone each link that a network's row names as its own. The line that keeps it:
// names_of_others.go, HasWriter.
func TestLinksOfNetworksAreKnown(t *testing.T) {
	others := strings.Fields("" +
		// These are the ends of pods' links, which an undo knows by their kind.
		"veth* pi-veth* pa-veth* veth_host veth_host_ac vlan??????????? azvint* azvifv* tapeth0-* vpp1 vpp2 h_* " +
		"[0-9a-z]*-HHHHHH HHHHHHHHHHHHHHH [0-9a-f]*_h ????????????_h ????????????_c ?????????????_h ?????????????_c " +
		// The node's own address moves to these links, and an undo restores it there.
		"azure* azure[0-9]* vhost0 k-vswitch0 cluster-wide br-ex br-external " +
		// These are ports of Open vSwitch, and only Open vSwitch removes them.
		"br-int br-tun br-nwnode-check obr0 mirror0 datapath " +
		// Any program may use these names. For kube-router and Contrail the agent knows narrower
		// names.
		"vxlan1 vx_* tun-* pkt* tunl* k8s-*")
	short := strings.NewReplacer("[0-9a-f]", "H")
	example := strings.NewReplacer("[0-9a-f]", "0", "[0-9a-z]", "a", "[a-z]", "a", "[0-9]", "4", "[0-3]", "0", "?", "0", "*", "7")
	for _, n := range network.All() {
		names := slices.Clone(n.SharedHost.Links)
		for _, l := range n.Residue.Links {
			names = append(names, l.Name)
		}
		for _, m := range n.Modes {
			for _, l := range m.Residue.Links {
				names = append(names, l.Name)
			}
		}
		for _, name := range names {
			if !sys.HasWriter(example.Replace(name)) && !slices.Contains(others, name) && !slices.Contains(others, short.Replace(name)) {
				t.Errorf("%s: link %s is not known", n.Name, name)
			}
		}
	}
	for _, name := range []string{"tun-office", "tun0", "eth0", "eth0.100", "k8s-uplink", "mp0", "wg0", "br-lan", "vlan.100", "vxlan-100"} {
		if sys.HasWriter(name) {
			t.Errorf("link %s may be anybody's", name)
		}
	}
}

// An undo leaves alone the tables and chains of programs that run virtual machines: without them
// the machines that were started meanwhile have no network. libvirt up to 10.3 writes chains of
// iptables, and later releases a table of their own. LXD and Incus write one table each. The line
// that keeps it: names_of_others.go, writtenPrefixes.
func TestTablesOfMachinesAreKnown(t *testing.T) {
	for _, name := range []string{"LIBVIRT_INP", "LIBVIRT_FWO", "LIBVIRT_PRT", "libvirt_network", "lxd", "incus", "virbr0", "lxdbr0", "incusbr0"} {
		if !sys.HasWriter(name) {
			t.Errorf("%s is not known", name)
		}
	}
	for _, name := range []string{"filter", "INPUT", "mine", "firewalld", "inet"} {
		if sys.HasWriter(name) {
			t.Errorf("%s may be anybody's", name)
		}
	}
}
