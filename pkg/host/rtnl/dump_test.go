package rtnl

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/test/netns"
)

// pods makes the links and routes of n pods in a namespace.
func pods(ns *netns.NS, n int) {
	ns.Run("ip", "link", "set", "lo", "up")
	for i := range n {
		host, pod := fmt.Sprintf("cali%d", i), fmt.Sprintf("pod%d", i)
		ns.Run("ip", "link", "add", host, "type", "veth", "peer", "name", pod)
		ns.Run("ip", "link", "set", host, "up")
		ns.Run("ip", "link", "set", pod, "up")
		ns.Run("ip", "route", "add", fmt.Sprintf("10.244.1.%d", i+2), "dev", host, "scope", "link")
	}
}

// What the reader itself reads equals what the library reads, route by route.
func TestRoutesAsTheLibraryReadsThem(t *testing.T) {
	ns := routed(t)
	ns.Run("ip", "link", "add", "up2", "type", "veth", "peer", "name", "up3")
	ns.Run("ip", "link", "set", "up2", "up")
	for _, route := range []string{
		"10.1.0.0/24 via 192.0.2.9 mtu 1400 metric 7 src 192.0.2.2", "10.2.0.0/24 dev up2", "10.3.0.0/24 via 198.51.100.1 dev up2 onlink",
		"10.4.0.0/24 nexthop via 192.0.2.9 weight 2 nexthop via 198.51.100.9 dev up2 onlink", "10.5.0.0/24 via inet6 2001:db8::9 dev up0",
		"blackhole 10.6.0.0/24 proto 80", "unreachable 10.7.0.0/24", "prohibit 10.8.0.0/24", "throw 10.9.0.0/24", "local 10.10.0.0/24 dev lo",
		"default via 192.0.2.1 table 300", "10.11.0.0/24 dev up2 table 7", "fd00:1::/64 via 2001:db8::9", "fd00:2::/64 nexthop via 2001:db8::9 nexthop via 2001:db8::8",
		"unreachable fd00:3::/64 metric 99", "default via 2001:db8::1 table 300 proto ra", "2001:db8:5::/64 dev up2 src 2001:db8::2",
	} {
		args := []string{"route", "add"}
		if strings.Contains(route, ":") && !strings.HasPrefix(route, "10.") {
			args = []string{"-6", "route", "add"}
		}
		ns.Run("ip", append(args, strings.Fields(route)...)...)
	}
	ns.Do(func() {
		h := openNet(t)
		names, err := h.names(t.Context())
		ok(t, err)
		for table, least := range map[int]int{0: 12, 7: 1, 300: 2, AllTables: 25, 4242: 0} {
			list, err := h.listed(t.Context(), table)
			ok(t, err)
			want := libraryRoutes(t, table, names)
			var got []Route
			for _, r := range list {
				got = append(got, r.on(names))
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" || len(got) < least {
				t.Errorf("table %d: %d routes, want at least %d:\n%s", table, len(got), least, diff)
			}
		}
	})
}

// For the routes of one table the kernel sends no others, and for links it sends no counters.
func TestTheKernelSendsWhatIsAskedForAlone(t *testing.T) {
	ns := netns.New(t)
	pods(ns, 10)
	ns.Do(func() {
		h := openNet(t)
		others, bytes := 0, 0
		ok(t, h.lists.List(unix.RTM_GETROUTE, unix.RTM_NEWROUTE, unix.NLM_F_DUMP, routeQuestion(MainTable), func(m []byte) {
			if r, is := decodeRoute(m); !is || r.Table != MainTable {
				others++
			}
		}))
		ok(t, h.lists.List(unix.RTM_GETLINK, unix.RTM_NEWLINK, unix.NLM_F_DUMP, LinkQuestion(), func(m []byte) { bytes += len(m) }))
		if others > 0 || bytes > 21*1250 {
			t.Errorf("asked for the main table the kernel sent %d routes of others; of 21 links %d bytes, want less than 1,250 of each", others, bytes)
		}
	})
}

// An overview of the network costs one list of each kind, and no buffer for each part of a list.
func TestOverviewAllocatesLittle(t *testing.T) {
	ns := netns.New(t)
	pods(ns, 50)
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		o, err := h.Overview(ctx)
		ok(t, err)
		links, err := h.Links(ctx)
		ok(t, err)
		addresses, err := h.Addresses(ctx, "")
		ok(t, err)
		routes, err := h.Routes(ctx, MainTable)
		ok(t, err)
		defaults, err := h.DefaultRoutes(ctx)
		ok(t, err)
		if !slices.Equal(o.Links, links) || !slices.Equal(o.Addresses, addresses) || !slices.Equal(o.Routes, routes) || !slices.Equal(o.Defaults, defaults) || len(links) != 101 {
			t.Errorf("an overview is not what each list is: %+v", o)
		}
		const runs = 10
		var was, is runtime.MemStats
		runtime.ReadMemStats(&was)
		for range runs {
			_, _ = h.Overview(ctx)
		}
		runtime.ReadMemStats(&is)
		objects, bytes := (is.Mallocs-was.Mallocs)/runs, (is.TotalAlloc-was.TotalAlloc)/runs
		t.Logf("an overview of 101 links, %d addresses and %d routes allocates %d objects, %d bytes", len(addresses), len(routes), objects, bytes)
		if objects > 101*6 || bytes > 500_000 {
			t.Errorf("an overview of 101 links allocates %d objects and %d bytes, want at most %d and 500,000", objects, bytes, 101*6)
		}
	})
}

// libraryRoutes returns the routes of a table as the library reads them.
func libraryRoutes(t *testing.T, table int, names map[int]string) (out []Route) {
	t.Helper()
	switch table {
	case 0:
		table = MainTable
	case AllTables:
		table = unix.RT_TABLE_UNSPEC
	}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		list, err := netlink.RouteListFiltered(family, &netlink.Route{Table: table}, netlink.RT_FILTER_TABLE)
		if err != nil && !errors.Is(err, unix.ENOENT) { // the kernel's answer for a table without routes
			t.Fatal(err)
		}
		for _, r := range list {
			one := Route{Type: routeTypes[r.Type], Dst: sys.Prefix(r.Dst), Link: names[r.LinkIndex], Table: r.Table, Metric: r.Priority,
				Protocol: int(r.Protocol), Scope: int(r.Scope), MTU: r.MTU, OnLink: r.Flags&unix.RTNH_F_ONLINK != 0}
			one.Gateway, _ = netip.AddrFromSlice(r.Gw)
			one.Source, _ = netip.AddrFromSlice(r.Src)
			if via, ok := r.Via.(*netlink.Via); ok {
				one.Gateway, _ = netip.AddrFromSlice(via.Addr)
			}
			if family == netlink.FAMILY_V4 {
				one.Gateway, one.Source = one.Gateway.Unmap(), one.Source.Unmap()
				one.Dst = netip.PrefixFrom(one.Dst.Addr().Unmap(), one.Dst.Bits())
			}
			out = append(out, one)
		}
	}
	return out
}
