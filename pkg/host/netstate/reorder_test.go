package netstate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/netns"
)

// If several IPv6 routes have the same destination and metric, the kernel uses the first one. The
// same holds for several rules of one priority. Of several IPv6 addresses it sends from the newest
// one that fits. An undo restores all of them in their former order, whichever of them was removed,
// and before what somebody else put in its place. It also restores the source address of a route.
// The lines that keep it: reorder.go, reorder; routes.go, missingRoutes; rules.go, restoreRules;
// addresses.go, ofIPv6 and besides.
func TestRestoreKeepsTheOrderOfWhatIsAppended(t *testing.T) {
	ns := netns.New(t)
	ns.IP(twoUplinks...)
	ns.Run("sh", "-ec", `for n in 3 4 5; do ip -6 addr add 2001:db8:1::$n/64 dev a0 nodad; done
for l in b0 a0 b1 a1; do ip -6 route append 2001:db8:7::/64 dev $l metric 9; done; ip -6 route append 2001:db8:8::/64 dev b0; ip -6 route append 2001:db8:8::/64 dev a0
ip -6 route add 2001:db8:6::/64 via 2001:db8:1::1 src 2001:db8:1::4; ip route add 10.9.0.0/16 via 10.0.1.1
for n in 1 2 3; do ip rule add pref 100 from 10.0.$n.0/24 lookup $n; ip -6 rule add pref 100 from 2001:db8:$n::/64 lookup $n; done; ip -6 rule add pref 101 lookup 9`)
	look := func() string {
		return ns.Run("sh", "-ec", "ip -6 route | sed /kernel/d; ip rule; ip -6 rule; ip -6 -o addr show dev a0 scope global; ip -6 route get 2001:db8:1::77 | cut -d' ' -f1-8")
	}
	ns.Do(func() {
		h, ctx, before := openNet(t), t.Context(), look()
		was, err := Read(ctx, h.net)
		ok(t, err)
		keys := map[string]int{} // 0, 32766 and 32767 of IPv4, 0 and 32766 of IPv6, and three more
		for _, m := range was.Rules {
			keys[ruleKey(m)]++
		}
		if len(keys) != 8 {
			t.Errorf("the rules have %d priorities, want 8", len(keys))
		}
		for _, change := range []string{
			"ip -6 route del 2001:db8:7::/64 dev b0", "ip -6 route del 2001:db8:7::/64 dev a0", "ip -6 route del 2001:db8:7::/64 dev a1", "ip -6 route flush proto boot",
			"ip -6 route del 2001:db8:7::/64 dev b0; ip -6 route append 2001:db8:7::/64 dev b0 metric 9",
			"ip -6 addr del 2001:db8:1::5/64 dev a0", "ip -6 addr del 2001:db8:1::2/64 dev a0", "ip -6 addr del 2001:db8:1::4/64 dev a0; ip -6 addr del 2001:db8:1::3/64 dev a0", "ip -6 addr flush dev a0 scope global",
			"ip rule del pref 100 from 10.0.1.0/24; ip -6 rule del pref 100 from 2001:db8:2::/64", "ip rule del pref 100; ip rule del pref 100; ip rule del pref 100; ip -6 rule del pref 101",
			"ip rule del pref 100; ip rule add pref 100 from 10.0.1.0/24 lookup 1",
		} {
			ns.Run("sh", "-ec", change)
			if look() == before {
				t.Errorf("%s: nothing was changed", change)
			}
			for range 2 {
				ok(t, h.Restore(ctx, was, Made{}))
				if diff := cmp.Diff(lines(before), lines(look())); diff != "" {
					t.Errorf("%s: not as before (-before +after):\n%s", change, diff)
				}
			}
		}
		ns.Run("sh", "-ec", `ip -6 route del 2001:db8:7::/64 dev b0; ip -6 route append 2001:db8:7::/64 dev lo metric 9 proto static; ip -6 route del 2001:db8:8::/64 dev b0; ip -6 route append 2001:db8:8::/64 dev b1 proto static expires 900
ip rule del pref 100; ip rule add pref 100 from 10.0.0.0/8 lookup 9; ip -6 addr add 2001:db8:1::9/64 dev a0 nodad`)
		for range 2 {
			ok(t, h.Restore(ctx, was, Made{}))
			after := look()
			if diff := cmp.Diff(lines(before), lines(after, "dev lo", "expires", "10.0.0.0/8", "::9/64")); diff != "" {
				t.Errorf("beside what is of others (-before +after):\n%s", diff)
			}
			if at := strings.Index(after, "dev lo proto static metric 9"); at < strings.Index(after, "2001:db8:7::/64 dev a1") || !strings.Contains(after, "dev b1 proto static metric 1024 expires") {
				t.Errorf("what is of others: %s", after)
			}
		}
	})
}
