package probe

import (
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// After a change, the manager must still manage the node's own links. NetworkManager also calls
// bridges of pods its own, until their addresses are removed, and these do not count. The line that
// keeps it: link_managers.go, managed.
func TestLinksOfTheNodeAreHeldToTheirManagers(t *testing.T) {
	facts := &host.Facts{Links: []host.LinkFact{
		{Name: "lo", Manager: "systemd-networkd"}, {Name: "eth0", Manager: "systemd-networkd"},
		{Name: "eth1"}, {Name: "cbr0", Manager: "NetworkManager"}, {Name: "bond0", Manager: "NetworkManager"},
	}}
	around := neighbourhood{links: []rtnl.Link{
		{Name: "lo", Loopback: true}, {Name: "eth0", Physical: true}, {Name: "eth1", Physical: true},
		{Name: "cbr0", Kind: "bridge"}, {Name: "bond0", Kind: "bond"},
	}}
	want := []Probe{"managed:systemd-networkd/eth0", "managed:NetworkManager/bond0"}
	if got := managed(facts, around.own()); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
