package netstate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/netns"
)

// An undo restores nexthop objects, and the routes and groups that name them. It does so if an
// object was replaced or became one of another kind, if all were removed with their link, and if a
// gateway needs a route of its own. Added objects are removed, except those of a routing daemon,
// which uses numbers of its own. An earlier release did not record nexthop objects. The lines that
// keep it: nexthops.go, restoreNexthops, restoreNexthop; routes.go, restoreRoutes; remove_added.go,
// addedSince.
func TestRestoreBringsNexthopsBack(t *testing.T) {
	look := func(ns *netns.NS, part string) string {
		text := ns.Run("sh", "-ec", "ip -d nexthop; ip route; ip -6 route show 2001:db8:a::/48")
		if at := strings.Index(text, " unbalanced_time"); at >= 0 {
			text = text[:at] + text[strings.IndexByte(text[at:], '\n')+at:]
		}
		return strings.Join(slices.DeleteFunc(lines(text), func(l string) bool { return !strings.Contains(l, part) }), "\n")
	}
	for _, change := range []string{
		"nexthop replace id 21 via 10.0.1.99 dev a0", "-6 nexthop replace id 23 blackhole", "nexthop replace id 20 group 22", "nexthop del id 22; nexthop replace id 21 blackhole; -6 addr del 2001:db8:1::2/64 dev a0",
		"nexthop del id 20; nexthop add id 20 via 10.0.1.9 dev a0", "nexthop del id 22; nexthop add id 22 group 21", "nexthop flush",
		"link set a0 down", "link set a0 down; link set b0 down", "route del 10.9.0.1; nexthop del id 26",
	} {
		ns := netns.New(t)
		ns.IP(twoUplinks...)
		ns.IP("-6 addr add 2001:db8:1::3/64 dev a0 nodad", "nexthop add id 21 via 10.0.1.1 dev a0", "nexthop add id 22 via 10.0.2.1 dev b0", "nexthop add id 20 group 21,7/22", "nexthop add id 23 via 2001:db8:1::1 dev a0",
			"nexthop add id 24 blackhole", "nexthop add id 25 group 21/22 type resilient buckets 32 idle_timer 77", "route add 10.9.0.1 dev a0", "nexthop add id 26 via 10.9.0.1 dev a0",
			"nexthop add id 99 via 10.0.2.9 dev b0 proto zebra",
			"route add default nhid 20", "route add 10.21.0.0/16 nhid 21", "-6 route add 2001:db8:a::/48 nhid 23", "route add 10.24.0.0/16 nhid 24", "route add 10.25.0.0/16 nhid 25", "route add 10.26.0.0/16 nhid 26")
		ns.Do(func() {
			h, ctx, before := openNet(t), t.Context(), look(ns, "")
			was, err := Read(ctx, h.net)
			ok(t, err)
			ns.IP(strings.Split(change, "; ")...)
			if look(ns, "") == before {
				t.Fatalf("%s: nothing was changed:\n%s", change, before)
			}
			ns.Run("sh", "-ec", "for l in a0 b0; do ip link set $l up; done; ip nexthop add id 77 via 10.0.2.7 dev b0; ip nexthop add id 78 via 10.0.2.7 dev b0 proto zebra; ip nexthop replace id 99 via 10.0.2.8 dev b0 proto zebra")
			earlier := was
			earlier.Nexthops = nil
			ok(t, h.RemoveAdded(ctx, earlier))
			if look(ns, "id 77") == "" {
				t.Error("an earlier release knew of no object, and one went")
			}
			for range 2 {
				ok(t, h.RemoveAdded(ctx, was))
				ok(t, h.Restore(ctx, was, Made{}))
				if daemons := look(ns, "proto zebra"); !strings.Contains(daemons, "id 78") || !strings.Contains(daemons, "10.0.2.8") {
					t.Errorf("%s: of a daemon there is %s", change, daemons)
				}
				ours := lines(look(ns, ""), "zebra")
				if diff := cmp.Diff(lines(before, "zebra"), ours); diff != "" {
					t.Errorf("%s: not as before (-before +after):\n%s", change, diff)
				}
			}
		})
	}
}
