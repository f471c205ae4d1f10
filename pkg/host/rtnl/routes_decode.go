package rtnl

import (
	"encoding/binary"
	"iter"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// listed is a route as the kernel lists it: which link it leads to it says by a number.
type listed struct {
	Route // without what its next hop says
	nextHop
	kind   int       // of rtnetlink: RTN_UNICAST …
	tos    int       // of the packets that it is for; 0: of all
	hops   []nextHop // where it has several (ECMP)
	object int       // the number of the nexthop object that says where it leads; 0: it says so itself
}

// nextHop is where packets go next.
type nextHop struct {
	link    int // its index; 0: none
	gateway netip.Addr
	onLink  bool
}

// on is the route with the name of its link.
func (r listed) on(names map[int]string) Route {
	out := r.Route
	out.Link, out.Gateway, out.OnLink = names[r.link], r.gateway, r.onLink
	return out
}

// ofItsFamily says that the next hop is of the route's own family.
func (r listed) ofItsFamily() bool { return r.gateway.BitLen() == r.Dst.Addr().BitLen() }

// handle is the route in the library's terms. To remove it the kernel needs no next hop of several,
// and none of another family.
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

// routeQuestion asks for the routes of all families in a table, 0: in all.
func routeQuestion(table int) []byte {
	ask := make([]byte, unix.SizeofRtMsg)
	if table < 256 {
		ask[4] = byte(table)
		return ask
	}
	return append(ask, sys.NewAttribute(unix.RTA_TABLE, binary.NativeEndian.AppendUint32(nil, uint32(table)))...)
}

// decodeRoute reads the kernel's message of a route (linux/rtnetlink.h, rtmsg). It is not ok if it
// is of another family, or a copy that the kernel made for a destination.
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

// decode reads an attribute that a route and each of several next hops may have.
func (h *nextHop) decode(kind uint16, value []byte) {
	switch kind {
	case unix.RTA_OIF:
		h.link = sys.Number(value)
	case unix.RTA_GATEWAY:
		h.gateway, _ = netip.AddrFromSlice(value)
	case unix.RTA_VIA: // of another family than the route, before the address
		if len(value) > 2 {
			h.gateway, _ = netip.AddrFromSlice(value[2:])
		}
	}
}

// decodeHops reads several next hops (linux/rtnetlink.h, rtnexthop).
func decodeHops(b []byte) (out []nextHop) {
	for m := range NextHops(b) {
		hop := nextHop{link: sys.Number(m[4:]), onLink: m[2]&unix.RTNH_F_ONLINK != 0}
		sys.EachAttribute(m[unix.SizeofRtNexthop:], func(kind uint16, _, value []byte) { hop.decode(kind, value) })
		out = append(out, hop)
	}
	return out
}

// NextHops are the next hops of a route that has several, in the kernel's own form: RTA_MULTIPATH
// is a row of rtnexthop, each up to where the next one may begin.
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
