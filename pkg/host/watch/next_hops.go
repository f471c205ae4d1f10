package watch

import (
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// nextHops finds the links of routes that have a gateway but name no link. If that link goes down,
// the kernel removes the routes, and for IPv4 sends no message (net/ipv4/fib_semantics.c,
// fib_sync_down_dev).
type nextHops struct {
	last map[netip.Addr]string // last result; while the link is down none is found
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
	if err != nil || len(found) == 0 || found[0].Gw != nil { // the gateway is behind another one
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
