package netstate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/netns"
)

// twoUplinks makes a node with an uplink in each of two networks.
var twoUplinks = []string{
	"link add a0 type veth peer name a1", "link add b0 type veth peer name b1",
	"link set a0 up", "link set a1 up", "link set b0 up", "link set b1 up",
	"addr add 10.0.1.2/24 dev a0", "addr add 10.0.2.2/24 dev b0",
	"-6 addr add 2001:db8:1::2/64 dev a0 nodad", "-6 addr add 2001:db8:2::2/64 dev b0 nodad",
}

const (
	twoHops  = "route add default nexthop via 10.0.1.1 dev a0 nexthop via 10.0.2.1 dev b0 weight 3"
	twoHops6 = "-6 route add default proto bird nexthop via 2001:db8:1::1 dev a0 nexthop via 2001:db8:2::1 dev b0"
)

// The kernel may list a route or a rule in another form than it accepts. An undo restores it, and
// distinguishes it from what somebody put in its place. ip(8) judges, without the state of links.
// The lines that keep it: route_message.go, byObject, settableHopFlags; rules.go, ruleMessage.
func TestRestoreBringsBackWhatIsListedInAnotherForm(t *testing.T) {
	look := func(ns *netns.NS) string {
		text := ns.Run("ip", "-o", "route") + ns.Run("ip", "-6", "route") + ns.Run("ip", "rule") + ns.Run("ip", "-6", "rule")
		all := lines(strings.NewReplacer("dead ", "", "linkdown ", "").Replace(text), "fe80::")
		slices.Sort(all) // next hops of IPv6 have no order
		return strings.Join(all, "\n")
	}
	for name, c := range map[string]struct {
		before, change []string
	}{
		"a rule that names what it leaves out": {
			before: []string{"rule add not fwmark 51820 table 51820 pref 100", "-6 rule add not fwmark 51820 table 51820 pref 100"},
			change: []string{"rule del pref 100", "-6 rule del pref 100"},
		},
		"a rule that was turned round": {
			before: []string{"rule add not fwmark 51820 table 51820 pref 100"},
			change: []string{"rule del pref 100", "rule add fwmark 51820 table 51820 pref 100"},
		},
		"an uplink of two had no carrier": {
			before: []string{twoHops, "link set b1 down"},
			change: []string{"link set b1 up", "route del default"},
		},
		"a route by an object": {
			before: []string{"nexthop add id 10 via 10.0.1.1 dev a0", "route add default nhid 10"},
			change: []string{"route del default"},
		},
		"a route by a group of objects": {
			before: []string{"nexthop add id 10 via 10.0.1.1 dev a0", "nexthop add id 11 via 10.0.2.1 dev b0", "nexthop add id 12 group 10/11", "route add default nhid 12"},
			change: []string{"route del default"},
		},
		"a route whose object went with its link": {
			before: []string{"nexthop add id 10 via 10.0.1.1 dev a0", "route add default nhid 10"},
			change: []string{"link set a0 down"},
		},
		"a route by an object in place of another": {
			before: []string{"route add default via 10.0.2.1"},
			change: []string{"route del default", "nexthop add id 10 via 10.0.1.1 dev a0", "route add default nhid 10"},
		},
		"one of two next hops of IPv6": {
			before: []string{twoHops6},
			change: []string{"-6 route del default proto bird nexthop via 2001:db8:1::1 dev a0"},
		},
		"a whole route of IPv6 with two next hops": {
			before: []string{twoHops6},
			change: []string{"-6 route del default proto bird"},
		},
		"a route of IPv6 with two next hops that came": {
			before: []string{twoHops6},
			change: []string{"-6 route add 2001:db8:9::/48 nexthop via 2001:db8:1::1 dev a0 nexthop via 2001:db8:2::1 dev b0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := netns.New(t)
			ns.IP(twoUplinks...)
			ns.IP(c.before...)
			ns.Do(func() {
				h, ctx, before := openNet(t), t.Context(), look(ns)
				was, err := Read(ctx, h.net)
				ok(t, err)
				ns.IP(c.change...)
				if look(ns) == before {
					t.Fatalf("nothing was changed:\n%s", before)
				}
				for range 2 {
					ok(t, h.RemoveAdded(ctx, was))
					ok(t, h.Restore(ctx, was, Made{}))
					if diff := cmp.Diff(before, look(ns)); diff != "" {
						t.Errorf("not as before (-before +after):\n%s", diff)
					}
				}
			})
		})
	}
}

// A route whose one link is gone is restored by its other links. If no link of a route is left,
// that is no error. The line that keeps it: route_message.go, onLinks.
func TestRestoreWithoutALink(t *testing.T) {
	for _, c := range []struct{ route, gone, show, want string }{
		{twoHops, "b0", "-4", "default via 10.0.1.1 dev a0"},
		{twoHops6, "b0", "-6", "default via 2001:db8:1::1 dev a0 proto bird metric 1024 pref medium"},
		{"route add default via 10.0.2.1", "b0", "-4", ""},
	} {
		ns := netns.New(t)
		ns.IP(twoUplinks...)
		ns.IP(c.route)
		ns.Do(func() {
			h, ctx := openNet(t), t.Context()
			was, err := Read(ctx, h.net)
			ok(t, err)
			ns.IP(c.show+" route flush default", "link del "+c.gone)
			for range 2 {
				ok(t, h.Restore(ctx, was, Made{}))
				if got := strings.TrimSpace(ns.Run("ip", c.show, "route", "show", "default")); got != c.want {
					t.Errorf("%s without %s: %q, want %q", c.route, c.gone, got, c.want)
				}
			}
		})
	}
}

// Of several routes with the same destination and metric, a node uses the same next hop again after
// an undo. A route that was removed is restored before the routes before which it was, and before
// what somebody else put in its place. The line that keeps it: routes.go, missingRoutes.
func TestRestoreKeepsTheOrderOfRoutes(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `ip link add up0 type veth peer name up1; ip link set up1 up; ip link set up0 up; ip addr add 192.0.2.2/24 dev up0
for n in 1 6 7 8; do ip route append default via 192.0.2.$n; done; ip route add 10.9.0.0/16 via 192.0.2.1`)
	look := func() string { return ns.Run("ip", "route") }
	ns.Do(func() {
		h, ctx, before := openNet(t), t.Context(), look()
		was, err := Read(ctx, h.net)
		ok(t, err)
		for _, change := range []string{
			"ip route del default via 192.0.2.1", "ip route del default via 192.0.2.8", "ip route flush default",
			"ip route del default via 192.0.2.1; ip route del default via 192.0.2.6; ip route del default via 192.0.2.8",
			"ip addr flush dev up0",
		} {
			ns.Run("sh", "-ec", change)
			ok(t, h.Restore(ctx, was, Made{}))
			if diff := cmp.Diff(before, look()); diff != "" {
				t.Errorf("%s: not as before (-before +after):\n%s", change, diff)
			}
		}
		ns.Run("sh", "-ec", "ip route flush default; ip route add default via 192.0.2.9 proto dhcp")
		ok(t, h.Restore(ctx, was, Made{}))
		if got := look(); !strings.HasPrefix(got, "default via 192.0.2.1 dev up0 \n") || !strings.Contains(got, "192.0.2.9") {
			t.Errorf("beside another's: %s", got)
		}
	})
}
