package netstate

import (
	"strings"
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

// A program removes links and creates them anew while a change is made, as wg-quick does in a
// restart. An undo leaves such a link on the node, with its old addresses and routes. A link of
// another kind under an old name is no such link. The lines that keep it: renumber.go, renumbered;
// remove_added.go, RemoveAdded and Lost; restore.go, Restore.
func TestRestoreKnowsALinkThatWasCreatedAnew(t *testing.T) {
	ns := netns.New(t)
	const tunnel = `ip link add tunnel0 type vxlan id 7 dstport 4790; ip link set tunnel0 mtu 1420 up; ip addr add 10.200.0.1/24 dev tunnel0
ip -6 addr add 2001:db8::1/64 dev tunnel0 nodad; ip route add 10.201.0.0/16 dev tunnel0
ip nexthop add id 7 dev tunnel0; ip route add 10.202.0.0/16 nexthop dev tunnel0 weight 2 nexthop via 10.0.0.9 dev up0
ip neigh add 10.200.0.9 lladdr 02:00:00:00:00:09 dev tunnel0; `
	ns.Run("sh", "-ec", `ip link add up0 type veth peer name up1; ip link set up0 up; ip link set up1 up; ip addr add 10.0.0.2/24 dev up0
ip link add other0 type bridge; `+tunnel)
	look := func() string {
		return ns.Run("sh", "-ec", `ip -o link show dev tunnel0 | grep -o 'mtu [0-9]*'; ip -o addr show dev tunnel0 scope global | sed 's/^[0-9]*://'
ip route; ip -6 route show dev tunnel0 proto kernel 2001:db8::/64; ip nexthop; ip neigh show dev tunnel0 nud permanent`)
	}
	ns.Do(func() {
		h, ctx, before := openNet(t), t.Context(), look()
		was, err := Read(ctx, h.net)
		ok(t, err)
		for _, c := range []struct{ name, script string }{
			{"the same", "ip link del tunnel0; " + tunnel},
			{"in part", "ip link del tunnel0; ip link add tunnel0 type vxlan id 7 dstport 4790; ip addr add 10.200.0.1/24 dev tunnel0"},
			{"and more", "ip link del tunnel0; " + tunnel + "ip addr add 10.9.9.9/24 dev tunnel0; ip route add 10.79.0.0/28 dev tunnel0"},
			{"of another kind", "ip link del other0; ip link add other0 type vxlan id 9 dstport 4791; ip link add more0 type bridge"},
		} {
			ns.Run("sh", "-ec", c.script)
			for range 2 {
				ok(t, h.RemoveAdded(ctx, was))
				ok(t, h.Restore(ctx, was, Made{}))
				ok(t, h.PutOthersBehind(ctx, was))
				if diff := cmp.Diff(before, look()); diff != "" {
					t.Errorf("%s: not as before (-before +after):\n%s", c.name, diff)
				}
			}
			lost, err := h.Lost(ctx, was)
			ok(t, err)
			want := ""
			if c.name == "of another kind" {
				want = "link other0"
			}
			links := ns.Run("ip", "-o", "link")
			if got := strings.Join(lost, ", "); got != want || strings.Contains(links, "other0") != (want == "") || strings.Contains(links, "more0") {
				t.Errorf("%s: lost %q, want %q, and has:\n%s", c.name, got, want, links)
			}
		}
	})
}
