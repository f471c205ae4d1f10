package rtnl

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/netns"
)

// routed returns a namespace with an uplink: up0, 192.0.2.2/24 and 2001:db8::2/64.
func routed(t *testing.T) *netns.NS {
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "up0", "type", "veth", "peer", "name", "up1")
	ns.Run("ip", "link", "set", "up1", "up")
	ns.Run("ip", "link", "set", "up0", "up")
	ns.Run("ip", "addr", "add", "192.0.2.2/24", "dev", "up0")
	ns.Run("ip", "-6", "addr", "add", "2001:db8::2/64", "dev", "up0", "nodad")
	return ns
}

// twoUplinks returns a namespace with uplinks a0 and b0 in two networks.
func twoUplinks(t *testing.T) *netns.NS {
	ns := netns.New(t)
	ns.IP("link add a0 type veth peer name a1", "link add b0 type veth peer name b1",
		"link set a0 up", "link set a1 up", "link set b0 up", "link set b1 up", "addr add 10.0.1.2/24 dev a0", "addr add 10.0.2.2/24 dev b0",
		"-6 addr add 2001:db8:1::2/64 dev a0 nodad", "-6 addr add 2001:db8:2::2/64 dev b0 nodad")
	return ns
}

func ours(rs []Route) []Route {
	return slices.DeleteFunc(rs, func(r Route) bool { return r.Protocol != RouteProtocol })
}

// Routes have the names of their links, whether the names are read one by one or all at once.
func TestRoutesNameTheirLinks(t *testing.T) {
	ns := routed(t)
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		for i := range askedEach + 2 {
			link, dst := fmt.Sprintf("lab%d", i), netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 7, byte(i), 0}), 24)
			ns.Run("ip", "link", "add", link, "type", "bridge")
			ns.Run("ip", "link", "set", link, "up")
			ok(t, h.ReplaceRoute(ctx, Route{Dst: dst, Link: link, Table: 77}))
			list, err := h.Routes(ctx, 77)
			ok(t, err)
			if len(list) != i+1 || slices.ContainsFunc(list, func(r Route) bool {
				return r.Link != fmt.Sprintf("lab%d", r.Dst.Addr().As4()[2])
			}) {
				t.Errorf("with %d links: %+v", i+1, list)
			}
		}
	})
}

func TestRoutes(t *testing.T) {
	ns := routed(t)
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		want := []Route{
			{Dst: netip.MustParsePrefix("10.2.0.0/24"), Gateway: netip.MustParseAddr("192.0.2.12"), Link: "up0", MTU: 1400},
			{Dst: netip.MustParsePrefix("10.3.0.0/24"), Link: "up0"},
			{Dst: netip.MustParsePrefix("10.4.0.0/24"), Gateway: netip.MustParseAddr("203.0.113.1"), Link: "up0", OnLink: true},
			{Dst: netip.MustParsePrefix("fd00:2::/64"), Gateway: netip.MustParseAddr("2001:db8::12"), Link: "up0"},
			{Type: "blackhole", Dst: netip.MustParsePrefix("10.0.0.0/8"), Metric: 5000},
			{Type: "unreachable", Dst: netip.MustParsePrefix("10.9.0.0/24"), Table: 100},
		}
		for range 2 { // the second time replaces each by its equal
			for _, r := range want {
				ok(t, h.ReplaceRoute(ctx, r))
			}
		}
		var got []Route
		for _, table := range []int{0, 100} {
			rs, err := h.Routes(ctx, table)
			ok(t, err)
			got = append(got, ours(rs)...)
		}
		for _, w := range want {
			if !slices.Contains(got, w.Canonical()) {
				t.Errorf("not there: %+v", w.Canonical())
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d routes of ours, want %d: %+v", len(got), len(want), got)
		}
		shown := ns.Run("ip", "route", "show", "table", "all") + ns.Run("ip", "-6", "route")
		for _, line := range []string{
			"10.2.0.0/24 via 192.0.2.12 dev up0 proto 149 mtu 1400", "10.3.0.0/24 dev up0 proto 149 scope link",
			"10.4.0.0/24 via 203.0.113.1 dev up0 proto 149 onlink", "fd00:2::/64 via 2001:db8::12 dev up0 proto 149 metric 1024",
			"blackhole 10.0.0.0/8 proto 149 metric 5000", "unreachable 10.9.0.0/24 table 100 proto 149",
		} {
			if !strings.Contains(shown, line) {
				t.Errorf("ip does not show %q:\n%s", line, shown)
			}
		}
		for _, r := range want {
			ok(t, h.DelRoute(ctx, r))
			ok(t, h.DelRoute(ctx, r))
		}
		if left := ns.Run("ip", "route", "show", "table", "all", "proto", "149"); left != "" {
			t.Errorf("left: %s", left)
		}
		empty, err := h.Routes(ctx, 4242)
		if err != nil || len(empty) != 0 {
			t.Errorf("a table without routes: %v, %v", empty, err)
		}
	})
}

// A default route behind one that leads nowhere does not count. The line that keeps it: routes.go,
// DefaultRoutes (nowhere).
func TestDefaultRoutesThatAreUsed(t *testing.T) {
	for _, c := range []struct{ routes, want string }{
		{"default via 192.0.2.1", "192.0.2.1"},
		{"default via 192.0.2.1 metric 10, default via 192.0.2.9 metric 5", "192.0.2.9 192.0.2.1"},
		{"default via 192.0.2.1, blackhole default", "192.0.2.1"},
		{"blackhole default, default via 192.0.2.1", ""},
		{"blackhole 10.0.0.0/8, default via 192.0.2.1 metric 10", "192.0.2.1"},
		{"default via 192.0.2.1 metric 10, prohibit default metric 5, default via 192.0.2.9 metric 1", "192.0.2.9"},
		{"unreachable default, default via 192.0.2.1, default via 2001:db8::1", "2001:db8::1"},
		{"default via 2001:db8::1, throw ::/0 metric 10, default via 192.0.2.1", "192.0.2.1"},
		{"default via 2001:db8::1, unreachable ::/0 metric 2000", "2001:db8::1"},
	} {
		ns := routed(t)
		for route := range strings.SplitSeq(c.routes, ", ") {
			ns.Run("ip", append([]string{"route", "append"}, strings.Fields(route)...)...)
		}
		ns.Do(func() {
			routes, err := openNet(t).DefaultRoutes(t.Context())
			ok(t, err)
			var got []string
			for _, r := range routes {
				got = append(got, r.Gateway.String())
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s: the node goes by %q, want %q", c.routes, got, c.want)
			}
		})
	}
}

func TestRoutesOfOthersStay(t *testing.T) {
	ns := routed(t)
	ns.Run("ip", "route", "add", "10.2.0.0/24", "via", "192.0.2.99", "proto", "static")
	ns.Run("ip", "route", "add", "fd00:2::/64", "via", "2001:db8::99", "proto", "static")
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		r := Route{Dst: netip.MustParsePrefix("10.2.0.0/24"), Gateway: netip.MustParseAddr("192.0.2.12")}
		err := h.ReplaceRoute(ctx, r)
		saysAll(t, err, "10.2.0.0/24", "protocol 4", "192.0.2.99", "metric")
		if !errors.Is(err, ErrUnmanagedRoute) {
			t.Errorf("%v is not ErrUnmanagedRoute", err)
		}
		ok(t, h.DelRoute(ctx, r))
		v6 := Route{Dst: netip.MustParsePrefix("fd00:2::/64"), Gateway: netip.MustParseAddr("2001:db8::12"), Link: "up0"}
		if err := h.ReplaceRoute(ctx, v6); !errors.Is(err, ErrUnmanagedRoute) {
			t.Errorf("%v is not ErrUnmanagedRoute", err)
		}
		// With a metric of its own our route is possible.
		r.Metric = 50
		ok(t, h.ReplaceRoute(ctx, r))
		shown := ns.Run("ip", "route")
		if !strings.Contains(shown, "10.2.0.0/24 via 192.0.2.99") || !strings.Contains(shown, "10.2.0.0/24 via 192.0.2.12 dev up0 proto 149 metric 50") {
			t.Errorf("routes by 192.0.2.99 and by 192.0.2.12 are wanted: %s", shown)
		}
	})
}

func TestRouteWithoutAWay(t *testing.T) {
	ns := routed(t)
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		for _, way := range [][2]string{{"10.2.0.0/24", "198.51.100.1"}, {"fd00:2::/64", "2001:db8:ffff::1"}} {
			err := h.ReplaceRoute(ctx, Route{Dst: netip.MustParsePrefix(way[0]), Gateway: netip.MustParseAddr(way[1])})
			saysAll(t, err, way[0], way[1], "next hop", "onlink")
		}
		saysAll(t, h.ReplaceRoute(ctx, Route{Dst: netip.MustParsePrefix("10.2.0.0/24"), Gateway: netip.MustParseAddr("2001:db8::1")}), "another family")
		err := h.ReplaceRoute(ctx, Route{Dst: netip.MustParsePrefix("10.2.0.0/24"), Link: "gone0"})
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("route by an absent link: %v", err)
		}
	})
}

func TestRules(t *testing.T) {
	ns := netns.New(t)
	ns.Run("ip", "rule", "add", "pref", "700", "from", "10.0.0.0/8", "lookup", "70")
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		want := []Rule{
			{Priority: 700, Family: 4, Src: netip.MustParsePrefix("10.2.0.0/16"), Mark: 0x10, Mask: 0xf0, Table: 100},
			{Priority: 701, Family: 4, Dst: netip.MustParsePrefix("10.3.0.0/16"), IIF: "cbr0", Table: 1000},
			{Priority: 702, Family: 6, Src: netip.MustParsePrefix("fd00::/8"), OIF: "cbr0", Mark: 7, Table: 100},
		}
		for range 2 {
			for _, r := range want {
				ok(t, h.AddRule(ctx, r))
			}
		}
		got, err := h.Rules(ctx)
		ok(t, err)
		for _, w := range want {
			if n := len(slices.DeleteFunc(slices.Clone(got), func(r Rule) bool { return r != w.Canonical() })); n != 1 {
				t.Errorf("%d times there, want once: %+v", n, w.Canonical())
			}
		}
		shown := ns.Run("ip", "rule") + ns.Run("ip", "-6", "rule")
		for _, line := range []string{
			"700:\tfrom 10.2.0.0/16 fwmark 0x10/0xf0 lookup 100 proto 149", "701:\tfrom all to 10.3.0.0/16 iif cbr0 [detached] lookup 1000 proto 149",
			"702:\tfrom fd00::/8 fwmark 0x7 oif cbr0 [detached] lookup 100 proto 149",
		} {
			if !strings.Contains(shown, line) {
				t.Errorf("ip does not show %q:\n%s", line, shown)
			}
		}
		for _, r := range want {
			ok(t, h.DelRule(ctx, r))
			ok(t, h.DelRule(ctx, r))
		}
		// Rules of others stay, first of all the rule for local addresses.
		ok(t, h.DelRule(ctx, Rule{Priority: 700, Family: 4, Src: netip.MustParsePrefix("10.0.0.0/8"), Table: 70}))
		saysAll(t, h.DelRule(ctx, Rule{Priority: 0, Family: 4, Table: 255}), "never removed")
		saysAll(t, h.DelRule(ctx, Rule{Priority: 5, Family: 4, Table: 255}), "never removed")
		saysAll(t, h.AddRule(ctx, Rule{Family: 4, Table: 100}), "priority")
	})
	if got := strings.Count(ns.Run("ip", "rule"), "\n"); got != 4 {
		t.Errorf("%d rules, want local, 700, main and default:\n%s", got, ns.Run("ip", "rule"))
	}
}

// A node has uplinks also if its default route names a nexthop object, and if the kernel does not
// list that object's link. The lines that keep it: nexthops.go, resolveNexthops and nexthops.
func TestUplinksByNexthopObjects(t *testing.T) {
	for _, line := range []string{"route add default nhid 10", "route add default nhid 12"} {
		for _, mode := range []string{"1", "0"} {
			ns := twoUplinks(t)
			ns.IP("nexthop add id 10 via 10.0.1.1 dev a0", "nexthop add id 12 group 10", line)
			ns.Run("sysctl", "-qw", "net.ipv4.nexthop_compat_mode="+mode)
			ns.Do(func() {
				routes, err := openNet(t).DefaultRoutes(t.Context())
				ok(t, err)
				if len(routes) != 1 || routes[0].Link != "a0" || routes[0].Gateway.String() != "10.0.1.1" {
					t.Errorf("%s, mode %s: %v", line, mode, routes)
				}
			})
		}
	}
}

// A route that somebody made stays as it is, whatever its type. The lines that keep it: routes.go,
// routeTypes; routes_write.go, leaveOthers.
func TestRoutesOfEachTypeAreLeft(t *testing.T) {
	for _, kind := range []string{"unicast", "blackhole", "unreachable", "prohibit", "throw", "local", "broadcast", "anycast", "multicast"} {
		ns := twoUplinks(t)
		line := "route add " + kind + " 10.1.0.0/16"
		if slices.Contains([]string{"unicast", "local", "broadcast", "anycast", "multicast"}, kind) {
			line += " dev b0 table main"
		}
		if kind == "anycast" { // IPv4 has no such routes
			line = "-6 " + strings.Replace(line, "10.1.0.0/16", "2001:db8:9::/48", 1)
		}
		ns.IP(line)
		ns.Do(func() {
			h, ctx := openNet(t), t.Context()
			r := Route{Dst: netip.MustParsePrefix("10.1.0.0/16"), Gateway: netip.MustParseAddr("10.0.1.1"), Link: "a0"}
			if kind == "anycast" {
				r = Route{Dst: netip.MustParsePrefix("2001:db8:9::/48"), Gateway: netip.MustParseAddr("2001:db8:1::1"), Link: "a0"}
			}
			// Only routes of this prefix: the kernel makes routes of its own while links come up.
			list := func() string {
				return ns.Run("ip", "route", "show", "10.1.0.0/16") + ns.Run("ip", "-6", "route", "show", "2001:db8:9::/48")
			}
			before := list()
			err := h.ReplaceRoute(ctx, r)
			if after := list(); err == nil || before == "" || before != after {
				t.Errorf("%s: %v\n%s", kind, err, after)
			}
		})
	}
}
