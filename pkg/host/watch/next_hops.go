package watch

import (
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// nextHops finds the links that routes without one of their own lead through: when that link goes
// down they go with it, and IPv4 tells nobody (net/ipv4/fib_semantics.c, fib_sync_down_dev).
type nextHops struct {
	last map[netip.Addr]string // the last that was found: while the link is down nothing is
}

// find returns the routes with their links.
func (h *nextHops) find(routes []rtnl.Route) []rtnl.Route {
	routes = slices.Clone(routes)
	for n, r := range routes {
		if r.Link == "" && r.Gateway.IsValid() {
			routes[n].Link = h.link(r.Gateway)
		}
	}
	return routes
}

func (h *nextHops) link(hop netip.Addr) string {
	found, err := netlink.RouteGet(hop.AsSlice())
	if err != nil || len(found) == 0 || found[0].Gw != nil { // behind another hop is not where it belongs
		return h.last[hop]
	}
	link, err := netlink.LinkByIndex(found[0].LinkIndex)
	if err != nil {
		return h.last[hop]
	}
	if link.Attrs().Flags&net.FlagLoopback == 0 { // not an address of this host
		h.last[hop] = link.Attrs().Name
	}
	return h.last[hop]
}
