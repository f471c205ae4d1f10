package rtnl

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/netns"
)

func TestForeignRoutesGoExactlyAndTheMachinesStay(t *testing.T) {
	ns := netns.New(t)
	for _, line := range []string{
		"link add up0 type veth peer name up1", "addr add 192.0.2.2/24 dev up0", "link set up0 up", "link set up1 up",
		"route add default via 192.0.2.1 proto boot", "route add 10.9.0.0/24 via 192.0.2.3 proto dhcp",
		"route add 10.1.0.0/24 via 192.0.2.3 proto bird", "route add blackhole 10.2.0.0/24 proto bird",
		"route add 10.1.0.0/24 via 192.0.2.4 proto bird metric 7", "route add 10.3.0.0/24 via 192.0.2.3 table 200 proto 80",
		"-6 route add blackhole 2001:db8:2::/64 proto 80", "-6 addr add 2001:db8::2/64 dev up0 nodad",
		"route add 10.4.0.0/24 proto bird nexthop via 192.0.2.3 nexthop via 192.0.2.4", "route add 10.5.0.0/24 via inet6 2001:db8::3 dev up0 proto bird",
		"route add 10.6.0.0/24 via 192.0.2.3 proto bird", "route append 10.6.0.0/24 via 192.0.2.4 proto 81", "route add 10.6.0.0/24 tos 0x10 via 192.0.2.3 proto bird",
		"-6 route add 2001:db8:4::/64 proto 80 nexthop via 2001:db8::3 nexthop via 2001:db8::4",
	} {
		ns.Run("ip", strings.Fields(line)...)
	}
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		routes, err := h.Routes(ctx, AllTables)
		ok(t, err)
		refused := 0
		for _, r := range routes {
			switch {
			case r.Metric == 7, r.Protocol == 81:
				// It stays: no program names it.
			case r.Protocol == 12 || r.Protocol == 80:
				ok(t, h.DelUnmanagedRoute(ctx, r))
				ok(t, h.DelUnmanagedRoute(ctx, r))
			case h.DelUnmanagedRoute(ctx, r) != nil:
				refused++
			default:
				t.Errorf("removed %+v", r)
			}
		}
		if refused < 3 {
			t.Errorf("%d of the machine's own routes were read and refused", refused)
		}
	})
	left := ns.Run("ip", "route", "show", "table", "all") + ns.Run("ip", "-6", "route", "show", "table", "all")
	for _, gone := range []string{"10.1.0.0/24 via 192.0.2.3", "blackhole", "10.3.0.0", "10.4.0.0", "10.5.0.0", "10.6.0.0/24 via 192.0.2.3", "tos", "db8:4::"} {
		if strings.Contains(left, gone) {
			t.Errorf("still there: %s", gone)
		}
	}
	for _, stays := range []string{"default via 192.0.2.1", "10.9.0.0/24", "10.1.0.0/24 via 192.0.2.4", "10.6.0.0/24 via 192.0.2.4", "192.0.2.0/24 dev up0 proto kernel", "local 192.0.2.2"} {
		if !strings.Contains(left, stays) {
			t.Errorf("gone: %s\n%s", stays, left)
		}
	}
}

func TestTheRuleForLocalAddressesComesBackBeforeItIsTakenAway(t *testing.T) {
	ns := netns.New(t)
	for _, family := range []string{"-4", "-6"} {
		ns.Run("ip", family, "rule", "add", "pref", "100", "lookup", "local", "proto", "kernel")
		ns.Run("ip", family, "rule", "del", "pref", "0")
	}
	ns.Run("ip", "rule", "add", "pref", "20", "to", "10.0.0.5", "lookup", "main")
	ns.Run("ip", "rule", "add", "pref", "21", "iif", "lo", "lookup", "local")
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		rules, err := h.Rules(ctx)
		ok(t, err)
		if v4, v6 := LocalRulePriority(rules, 4), LocalRulePriority(rules, 6); v4 != 100 || v6 != 100 {
			t.Errorf("moved to %d and %d", v4, v6)
		}
		for _, r := range rules {
			if r.Priority > 100 && h.DelUnmanagedRule(ctx, r) == nil || r.Table == 255 && h.DelUnmanagedRule(ctx, r) == nil {
				t.Errorf("removed %+v", r)
			}
			if r.Priority == 20 {
				ok(t, h.DelUnmanagedRule(ctx, r))
				ok(t, h.DelUnmanagedRule(ctx, r))
			}
		}
		for range 2 {
			ok(t, h.RestoreLocalRule(ctx))
		}
	})
	for _, family := range []string{"-4", "-6"} {
		got := ns.Run("ip", family, "rule", "show")
		if !strings.HasPrefix(got, "0:\tfrom all lookup local\n") || strings.Contains(got, "100:") || strings.Contains(got, "20:") {
			t.Errorf("%s:\n%s", family, got)
		}
	}
	if got := ns.Run("ip", "rule", "show", "pref", "21"); !strings.Contains(got, "iif lo") {
		t.Errorf("a rule of somebody else went: %q", got)
	}
	ns.Run("ip", "-4", "route", "get", "127.0.0.1")
}
