package netstate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// listRoutes lists the routes and the remaining lifetime of each.
func listRoutes(ctx context.Context) (out [][]byte, expires []uint32, err error) {
	routes, err := rawList(ctx, "routes", unix.RTM_GETROUTE, unix.SizeofRtMsg, asItIs)
	for _, m := range routes {
		if wantedRoute(m) {
			out, expires = append(out, routeMessage(m)), append(expires, lifetime(m))
		}
	}
	return out, expires, err
}

// wantedRoute leaves out what the kernel makes for an address or a link, and cached routes. It
// keeps a unicast route with the kernel's protocol: it may be of NetworkManager, which adds the
// address with IFA_F_NOPREFIXROUTE and the route itself.
func wantedRoute(m []byte) bool {
	family, table, protocol, kind := m[0], m[4], m[5], m[7]
	kernels := protocol == unix.RTPROT_KERNEL && (table == unix.RT_TABLE_LOCAL || kind != unix.RTN_UNICAST)
	return (family == unix.AF_INET || family == unix.AF_INET6) && !kernels &&
		protocol != unix.RTPROT_REDIRECT && binary.NativeEndian.Uint32(m[8:])&unix.RTM_F_CLONED == 0
}

// settableHopFlags are the flags of a next hop that a program can set. The others describe the
// state of its link, and the kernel refuses a route with them.
const settableHopFlags = unix.RTNH_F_ONLINK | unix.RTNH_F_PERVASIVE

// routeMessage returns a route without what changes with time and with the state of its links. The
// kernel lists several IPv6 next hops in the order in which they were added, but their order has no
// meaning, so they are sorted.
func routeMessage(m []byte) []byte {
	out := without(m, unix.RTA_CACHEINFO, unix.RTA_EXPIRES)
	binary.NativeEndian.PutUint32(out[8:], binary.NativeEndian.Uint32(out[8:])&settableHopFlags)
	several := routeAttribute(out, unix.RTA_MULTIPATH)
	var hops []string
	for hop := range rtnl.NextHops(several) {
		hop[2] &= settableHopFlags
		hops = append(hops, string(hop))
	}
	slices.Sort(hops)
	if out[0] == unix.AF_INET6 {
		copy(several, strings.Join(hops, ""))
	}
	return out
}

// routeAttribute returns one attribute of a route, nil if it is missing.
func routeAttribute(m []byte, kind uint16) []byte { return sys.Attribute(m[unix.SizeofRtMsg:], kind) }

// without returns a route without some of its attributes.
func without(m []byte, kinds ...uint16) []byte {
	return append(bytes.Clone(m[:unix.SizeofRtMsg]), sys.WithoutAttributes(m[unix.SizeofRtMsg:], kinds...)...)
}

// onLinks returns a route without the next hops whose links are gone, or nil if none is left. For
// such a next hop the kernel may answer that it is unreachable, and a caller would retry for ever.
// Or it may answer that the device does not exist, and the route's other next hops would be lost,
// too.
func onLinks(m []byte, links []rtnl.Link) []byte {
	there := func(index int) bool {
		return slices.ContainsFunc(links, func(l rtnl.Link) bool { return l.Index == index })
	}
	if on := routeAttribute(m, unix.RTA_OIF); on != nil && !there(sys.Number(on)) {
		return nil
	}
	several := routeAttribute(m, unix.RTA_MULTIPATH)
	if several == nil {
		return m
	}
	var left []byte
	for hop := range rtnl.NextHops(several) {
		if there(sys.Number(hop[4:])) {
			left = append(left, hop...)
		}
	}
	if left == nil {
		return nil
	}
	return append(without(m, unix.RTA_MULTIPATH), sys.NewAttribute(unix.RTA_MULTIPATH, left)...)
}

// byObject returns a route with only the id of its nexthop object, without next hops. The kernel
// lists both, but accepts only one of them. If the object drops packets, the kernel lists the route
// as a blackhole.
func byObject(m []byte) []byte {
	if routeAttribute(m, rtnl.NexthopID) == nil {
		return m
	}
	m = without(m, unix.RTA_OIF, unix.RTA_GATEWAY, unix.RTA_VIA, unix.RTA_MULTIPATH)
	m[7] = unix.RTN_UNICAST
	return m
}

// sendRoute sends a listed route, to be added or removed. An IPv6 route with several next hops is
// sent as one route for each of them, because one existing next hop would make the kernel refuse
// all.
func sendRoute(what string, kind, flags int, m []byte, fine ...unix.Errno) error {
	several := routeAttribute(m, unix.RTA_MULTIPATH)
	if m[0] != unix.AF_INET6 || several == nil {
		return send(what, kind, flags, m, fine...)
	}
	var errs []error
	for hop := range rtnl.NextHops(several) {
		one := append(without(m, unix.RTA_MULTIPATH), sys.NewAttribute(unix.RTA_MULTIPATH, hop)...)
		errs = append(errs, send(what, kind, flags, one, fine...))
	}
	return errors.Join(errs...)
}

// lifetime returns the remaining lifetime of a route in seconds, 0 for no limit. If a route from a
// router advertisement were restored without its lifetime, it would stay after its router is gone.
func lifetime(m []byte) (seconds uint32) {
	cache := routeAttribute(m, unix.RTA_CACHEINFO)
	if ticks := int32(sys.Number(cache[min(8, len(cache)):])); ticks > 0 {
		seconds = uint32(ticks)/sys.Ticks + 1
	}
	return seconds
}
