package rtnl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// MainTable is the number of the main routing table.
const MainTable = unix.RT_TABLE_MAIN

// routeTypes are the types that people make, by rtnetlink's numbers and with the names of
// ip-route(8).
var routeTypes = map[int]string{unix.RTN_UNICAST: "unicast", unix.RTN_BLACKHOLE: "blackhole",
	unix.RTN_UNREACHABLE: "unreachable", unix.RTN_PROHIBIT: "prohibit", unix.RTN_THROW: "throw",
	unix.RTN_LOCAL: "local", unix.RTN_BROADCAST: "broadcast", unix.RTN_ANYCAST: "anycast",
	unix.RTN_MULTICAST: "multicast"}

// leadsNowhere are the types of routes that end the kernel's search without a way.
var leadsNowhere = map[int]bool{unix.RTN_BLACKHOLE: true, unix.RTN_UNREACHABLE: true, unix.RTN_PROHIBIT: true,
	unix.RTN_THROW: true}

// Routes implements host.Net. A route with several next hops has neither
// Gateway nor Link.
func (n *Reader) Routes(ctx context.Context, table int) ([]Route, error) {
	list, err := n.listed(ctx, table)
	if err != nil {
		return nil, err
	}
	names, err := n.namesIn(ctx, list)
	return supported(list, names), err
}

// askedEach is up to how many links are asked for one by one. A list of all has each pod's.
const askedEach = 4

// namesIn are the names of the links that routes lead to. One that is gone meanwhile has none.
func (n *Reader) namesIn(ctx context.Context, list []listed) (map[int]string, error) {
	names := map[int]string{}
	for _, r := range list {
		if r.link != 0 {
			names[r.link] = ""
		}
	}
	if len(names) > askedEach {
		return n.names(ctx)
	}
	for index := range names {
		l, _, err := n.oneLink(index, nil)
		if err != nil && !errors.Is(err, unix.ENODEV) {
			return nil, fmt.Errorf("read link %d: %w", index, err)
		}
		names[index] = l.Name
	}
	return names, nil
}

// ofAddresses are the types of the routes that the kernel makes of addresses, in a table of theirs.
var ofAddresses = []string{"local", "broadcast", "anycast", "multicast"}

// supported are the routes of types that we have names for, without those that the kernel makes of
// addresses.
func supported(list []listed, names map[int]string) (out []Route) {
	for _, r := range list {
		if r.Type != "" && (r.Table != unix.RT_TABLE_LOCAL || !slices.Contains(ofAddresses, r.Type)) {
			out = append(out, r.on(names))
		}
	}
	return out
}

// listed are the routes of a table as the kernel lists them, those of IPv4 first. It is asked once
// for both families. A table that no route is in is no error then.
func (n *Reader) listed(ctx context.Context, table int) (out []listed, err error) {
	if _, err := n.rt(ctx); err != nil {
		return nil, err
	}
	switch table {
	case 0:
		table = MainTable
	case AllTables:
		table = unix.RT_TABLE_UNSPEC
	}
	out, err = sys.Dump(ctx, fmt.Sprintf("routes of table %d", table), func() (all []listed, err error) {
		err = n.lists.List(unix.RTM_GETROUTE, unix.RTM_NEWROUTE, unix.NLM_F_DUMP, routeQuestion(table), func(m []byte) {
			if r, ok := decodeRoute(m); ok && (table == unix.RT_TABLE_UNSPEC || r.Table == table) {
				all = append(all, r)
			}
		})
		return all, err
	})
	if err != nil {
		return nil, err
	}
	return out, n.resolveNexthops(ctx, out)
}

// Uplinks names the links that a default route of the main table goes through,
// the preferred one first (IPv4 before IPv6, then by metric).
func (n *Reader) Uplinks(ctx context.Context) ([]string, error) {
	routes, err := n.DefaultRoutes(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range routes {
		if !slices.Contains(out, r.Link) {
			out = append(out, r.Link)
		}
	}
	return out, nil
}

// DefaultRoutes are the default routes of the main table that lead to a link, the preferred one
// first. One with several next hops (ECMP) is a route for each of them. Behind one that leads
// nowhere (blackhole, unreachable and their like) there are none: the kernel goes by the first. It
// may be retried.
func (n *Reader) DefaultRoutes(ctx context.Context) ([]Route, error) {
	names, err := n.names(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the default route: %w", err)
	}
	list, err := n.listed(ctx, MainTable)
	if err != nil {
		return nil, fmt.Errorf("find the default route: %w", err)
	}
	return defaults(list, names), nil
}

func defaults(list []listed, names map[int]string) (out []Route) {
	list = slices.DeleteFunc(slices.Clone(list), func(r listed) bool { return r.Dst.Bits() != 0 })
	list = sorted(list, func(a, b listed) int { return a.Metric - b.Metric })
	nowhere := map[bool]bool{} // by whether it is of IPv4
	for _, r := range list {
		is4 := r.Dst.Addr().Is4()
		nowhere[is4] = nowhere[is4] || leadsNowhere[r.kind]
		if r.kind != unix.RTN_UNICAST || nowhere[is4] {
			continue
		}
		for _, hop := range append([]nextHop{r.nextHop}, r.hops...) {
			one := r
			one.nextHop = hop
			if route := one.on(names); route.Link != "" {
				out = append(out, route)
			}
		}
	}
	return sorted(out, func(a, b Route) int {
		if a.Dst != b.Dst {
			return a.Dst.Addr().BitLen() - b.Dst.Addr().BitLen()
		}
		return a.Metric - b.Metric
	})
}

// Canonical is the route as the kernel will show it: defaults filled in, host
// bits of the destination cleared. Two routes are the same when their
// canonical forms are.
func (r Route) Canonical() Route {
	r.Dst = r.Dst.Masked()
	r.Type = cmp.Or(r.Type, "unicast")
	r.Table = cmp.Or(r.Table, MainTable)
	r.Protocol = cmp.Or(r.Protocol, RouteProtocol)
	if r.Dst.Addr().Is6() {
		r.Metric = cmp.Or(r.Metric, 1024) // IP6_RT_PRIO_USER
	} else if r.Type == "unicast" && !r.Gateway.IsValid() && r.Scope == 0 {
		r.Scope = unix.RT_SCOPE_LINK
	}
	return r
}

// SameKey says that two routes cannot both be: one destination, table and metric.
func (r Route) SameKey(o Route) bool {
	if r.Dst.Bits() != o.Dst.Bits() || r.Dst.Masked() != o.Dst.Masked() {
		return false
	}
	r, o = r.Canonical(), o.Canonical()
	return r.Dst == o.Dst && r.Table == o.Table && r.Metric == o.Metric
}

// AllTables asks [Reader.Routes] for the routes of every table.
const AllTables = -1

// OfMachine says that the machine itself stands on a route, whoever is looked
// for: local addresses, and in the main table the default routes, connected networks, and what DHCP
// and router advertisements gave (protocols of linux/rtnetlink.h). Cilium marks
// its routes with the kernel's protocol too; they have a next hop or a table of their own.
func (r Route) OfMachine() bool {
	switch {
	case r.Table == unix.RT_TABLE_LOCAL:
		return true
	case r.Table != MainTable: // that of a VRF: what the kernel adds for an address, with its source; in IPv6 with metric 256, for the address itself 0
		added := r.Source.IsValid() || r.Dst.Addr().Is6() && (r.Metric == 256 || r.Metric == 0)
		return r.Protocol == unix.RTPROT_KERNEL && !r.Gateway.IsValid() && added
	case r.Dst.Bits() == 0, r.Protocol == unix.RTPROT_RA, r.Protocol == unix.RTPROT_DHCP:
		return true
	}
	return r.Protocol == unix.RTPROT_KERNEL && !r.Gateway.IsValid()
}
