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

// routeTypes are the types of routes that users can create: rtnetlink's numbers and the names of
// ip-route(8).
var routeTypes = map[int]string{unix.RTN_UNICAST: "unicast", unix.RTN_BLACKHOLE: "blackhole",
	unix.RTN_UNREACHABLE: "unreachable", unix.RTN_PROHIBIT: "prohibit", unix.RTN_THROW: "throw",
	unix.RTN_LOCAL: "local", unix.RTN_BROADCAST: "broadcast", unix.RTN_ANYCAST: "anycast",
	unix.RTN_MULTICAST: "multicast"}

// leadsNowhere are the types of routes that end the kernel's search without a next hop.
var leadsNowhere = map[int]bool{unix.RTN_BLACKHOLE: true, unix.RTN_UNREACHABLE: true, unix.RTN_PROHIBIT: true,
	unix.RTN_THROW: true}

// Routes implements host.Net. A route with several next hops has neither Gateway nor Link.
func (n *Reader) Routes(ctx context.Context, table int) ([]Route, error) {
	list, err := n.listed(ctx, table)
	if err != nil {
		return nil, err
	}
	names, err := n.namesIn(ctx, list)
	return supported(list, names), err
}

// askedEach is the largest number of links that are read one by one. Above it, all links are
// listed, including one for each pod.
const askedEach = 4

// namesIn returns the names of the links that routes lead to. A link that is gone by now has none.
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

// ofAddresses are the types of the routes that the kernel makes for addresses, in table local.
var ofAddresses = []string{"local", "broadcast", "anycast", "multicast"}

// supported returns the routes with a known type, without those that the kernel makes for
// addresses.
func supported(list []listed, names map[int]string) (out []Route) {
	for _, r := range list {
		if r.Type != "" && (r.Table != unix.RT_TABLE_LOCAL || !slices.Contains(ofAddresses, r.Type)) {
			out = append(out, r.on(names))
		}
	}
	return out
}

// listed lists the routes of a table as the kernel orders them, IPv4 first. One request gets both
// families; so a table without routes is no error.
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

// Uplinks returns the names of the links that default routes of the main table use, the preferred
// one first (IPv4 before IPv6, then by metric).
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

// DefaultRoutes lists the default routes of the main table that lead to a link, the preferred one
// first. A route with several next hops (ECMP) becomes one route for each of them. Routes after a
// default route without next hop (blackhole, unreachable and similar) are left out, because the
// kernel uses the first. It may be retried.
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
	nowhere := map[bool]bool{} // the key says whether the family is IPv4
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

// Canonical returns the route as the kernel shows it: with defaults filled in, and without host
// bits in the destination. Two routes are the same if their canonical forms are equal.
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

// SameKey reports whether two routes exclude each other: they have the same destination, table and
// metric.
func (r Route) SameKey(o Route) bool {
	if r.Dst.Bits() != o.Dst.Bits() || r.Dst.Masked() != o.Dst.Masked() {
		return false
	}
	r, o = r.Canonical(), o.Canonical()
	return r.Dst == o.Dst && r.Table == o.Table && r.Metric == o.Metric
}

// AllTables makes [Reader.Routes] list the routes of every table.
const AllTables = -1

// OfMachine reports whether the host itself needs a route, so cleanup must not remove it. These are
// the routes of local addresses. In the main table they are also the default routes, connected
// networks, and routes from DHCP and router advertisements (protocols of linux/rtnetlink.h). In the
// table of a VRF they are the routes that the kernel adds for an address. Cilium also uses the
// kernel's protocol, but its routes have a gateway or a table of their own.
func (r Route) OfMachine() bool {
	switch {
	case r.Table == unix.RT_TABLE_LOCAL:
		return true
	case r.Table != MainTable: // VRF: with a source; IPv6: metric 256, or 0 for the address itself
		added := r.Source.IsValid() || r.Dst.Addr().Is6() && (r.Metric == 256 || r.Metric == 0)
		return r.Protocol == unix.RTPROT_KERNEL && !r.Gateway.IsValid() && added
	case r.Dst.Bits() == 0, r.Protocol == unix.RTPROT_RA, r.Protocol == unix.RTPROT_DHCP:
		return true
	}
	return r.Protocol == unix.RTPROT_KERNEL && !r.Gateway.IsValid()
}
