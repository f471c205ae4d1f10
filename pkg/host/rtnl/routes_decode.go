package rtnl

import (
	"encoding/binary"
	"iter"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// listed is a route as the kernel lists it: it has the index of its link, not the name.
type listed struct {
	Route // without the fields of the next hop
	nextHop
	kind   int       // rtnetlink's type: RTN_UNICAST …
	tos    int       // type of service that the route is for; 0: all
	hops   []nextHop // if it has several next hops (ECMP)
	object int       // id of its nexthop object; 0: it has none
}

// nextHop is the link and gateway that a route leads to.
type nextHop struct {
	link    int // its index; 0: none
	gateway netip.Addr
	onLink  bool
}

// on returns the route with the name of its link.
func (r listed) on(names map[int]string) Route {
	out := r.Route
	out.Link, out.Gateway, out.OnLink = names[r.link], r.gateway, r.onLink
	return out
}

// ofItsFamily reports whether the gateway has the address family of the destination.
func (r listed) ofItsFamily() bool { return r.gateway.BitLen() == r.Dst.Addr().BitLen() }

// handle returns the route for package netlink. To remove a route, the kernel needs neither its
// several next hops nor a gateway of another family.
func (r listed) handle() *netlink.Route {
	out := &netlink.Route{
		Dst:       sys.IPNet(r.Dst),
		Table:     r.Table,
		Priority:  r.Metric,
		Protocol:  netlink.RouteProtocol(r.Protocol),
		Scope:     netlink.Scope(r.Scope),
		Type:      r.kind,
		Tos:       r.tos,
		MTU:       r.MTU,
		Src:       r.Source.AsSlice(),
		LinkIndex: r.link,
	}
	if r.ofItsFamily() {
		out.Gw = r.gateway.AsSlice()
	}
	if r.onLink {
		out.Flags = unix.RTNH_F_ONLINK
	}
	return out
}

// routeQuestion returns a request for the routes of both families in a table (0: in all).
func routeQuestion(table int) []byte {
	ask := make([]byte, unix.SizeofRtMsg)
	if table < 256 {
		ask[4] = byte(table)
		return ask
	}
	return append(ask, sys.NumberAttribute(unix.RTA_TABLE, uint32(table))...)
}

// decodeRoute decodes an rtnetlink message of a route (linux/rtnetlink.h, rtmsg). ok is false for
// another address family, and for a cached route (RTM_F_CLONED) that the kernel made.
func decodeRoute(m []byte) (r listed, ok bool) {
	if len(m) < unix.SizeofRtMsg || m[0] != unix.AF_INET && m[0] != unix.AF_INET6 ||
		binary.NativeEndian.Uint32(m[8:])&unix.RTM_F_CLONED != 0 {
		return r, false
	}
	r.kind, r.tos, r.onLink = int(m[7]), int(m[3]), binary.NativeEndian.Uint32(m[8:])&unix.RTNH_F_ONLINK != 0
	r.Type, r.Table, r.Protocol, r.Scope = routeTypes[r.kind], int(m[4]), int(m[5]), int(m[6])
	to := netip.IPv4Unspecified()
	if m[0] == unix.AF_INET6 {
		to = netip.IPv6Unspecified()
	}
	sys.EachAttribute(m[unix.SizeofRtMsg:], func(kind uint16, _, value []byte) {
		switch kind {
		case unix.RTA_DST:
			to, _ = netip.AddrFromSlice(value)
		case unix.RTA_PREFSRC:
			r.Source, _ = netip.AddrFromSlice(value)
		case unix.RTA_PRIORITY:
			r.Metric = sys.Number(value)
		case unix.RTA_TABLE:
			r.Table = sys.Number(value)
		case unix.RTA_METRICS:
			r.MTU = sys.Number(sys.Attribute(value, unix.RTAX_MTU))
		case unix.RTA_MULTIPATH:
			r.hops = decodeHops(value)
		case NexthopID:
			r.object = sys.Number(value)
		default:
			r.nextHop.decode(kind, value)
		}
	})
	r.Dst = netip.PrefixFrom(to, int(m[1]))
	return r, true
}

// decode decodes an attribute that is either of the route or of one of several next hops.
func (h *nextHop) decode(kind uint16, value []byte) {
	switch kind {
	case unix.RTA_OIF:
		h.link = sys.Number(value)
	case unix.RTA_GATEWAY:
		h.gateway, _ = netip.AddrFromSlice(value)
	case unix.RTA_VIA: // a gateway of another family: the family comes before the address
		if len(value) > 2 {
			h.gateway, _ = netip.AddrFromSlice(value[2:])
		}
	}
}

// decodeHops decodes several next hops (linux/rtnetlink.h, rtnexthop).
func decodeHops(b []byte) (out []nextHop) {
	for m := range NextHops(b) {
		hop := nextHop{link: sys.Number(m[4:]), onLink: m[2]&unix.RTNH_F_ONLINK != 0}
		sys.EachAttribute(m[unix.SizeofRtNexthop:], func(kind uint16, _, value []byte) { hop.decode(kind, value) })
		out = append(out, hop)
	}
	return out
}

// NextHops iterates over the next hops in an RTA_MULTIPATH attribute. Each is an rtnexthop in the
// kernel's binary form, with its padding.
func NextHops(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(b) >= unix.SizeofRtNexthop {
			size := (int(binary.NativeEndian.Uint16(b)) + 3) &^ 3
			if size < unix.SizeofRtNexthop || size > len(b) || !yield(b[:size]) {
				return
			}
			b = b[size:]
		}
	}
}
