package netstate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/test/netns"
)

// An undo restores the names of links, also if a bridge took the name, if two links exchanged their
// names, or if the former name is now another name of the link. A link of Kubernetes keeps its own
// name. The lines that keep it: links.go, restoreNames and rename.
func TestRestoreBringsNamesBack(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `ip link add up0 type veth peer name up1; ip link add cali1 type veth peer name cali2
for l in mid0 mid1 alt0; do ip link add $l type bridge; done; ip link set up1 up
ip link set up0 up; ip addr add 10.0.0.2/24 dev up0; ip route add default via 10.0.0.1`)
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		names := func() map[int]string {
			links, err := h.net.Links(ctx)
			ok(t, err)
			return rtnl.NamesOf(links)
		}
		before, route := names(), ns.Run("ip", "route")
		was, err := Read(ctx, h.net)
		ok(t, err)
		ns.Run("sh", "-ec", `ip link set up0 down; ip link set up0 name phys0; ip link add up0 type bridge
ip link set phys0 up master up0; ip link set up0 up; ip addr add 10.0.0.2/24 dev up0; ip route add default via 10.0.0.1
ip link set mid0 name aside; ip link set mid1 name mid0; ip link set aside name mid1
ip link set alt0 name other0; ip link property add dev other0 altname alt0
ip link set cali1 name cali3`)
		for index, name := range before {
			if name == "cali1" {
				before[index] = "cali3"
			}
		}
		for range 2 {
			ok(t, h.RemoveAdded(ctx, was))
			ok(t, h.Restore(ctx, was, Made{}))
			if diff := cmp.Diff(before, names()); diff != "" {
				t.Errorf("names (-before +after):\n%s", diff)
			}
		}
		if diff := cmp.Diff(route, ns.Run("ip", "route")); diff != "" {
			t.Errorf("routes (-before +after):\n%s", diff)
		}
	})
}
