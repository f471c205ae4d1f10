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

// listRoutes lists the routes, and how long each has still to live.
func listRoutes(ctx context.Context) (out [][]byte, expires []uint32, err error) {
	routes, err := rawList(ctx, "routes", unix.RTM_GETROUTE, unix.SizeofRtMsg, asItIs)
	for _, m := range routes {
		if wantedRoute(m) {
			out, expires = append(out, routeMessage(m)), append(expires, lifetime(m))
		}
	}
	return out, expires, err
}

// wantedRoute leaves out what the kernel makes with an address or a link, and what it only
// remembers. A route to the network of an address may be of NetworkManager, which has the kernel
// make none (IFA_F_NOPREFIXROUTE) and says that it is the kernel's.
func wantedRoute(m []byte) bool {
	family, table, protocol, kind := m[0], m[4], m[5], m[7]
	kernels := protocol == unix.RTPROT_KERNEL && (table == unix.RT_TABLE_LOCAL || kind != unix.RTN_UNICAST)
	return (family == unix.AF_INET || family == unix.AF_INET6) && !kernels &&
		protocol != unix.RTPROT_REDIRECT && binary.NativeEndian.Uint32(m[8:])&unix.RTM_F_CLONED == 0
}

// settableHopFlags are those of a next hop that can be set. The others tell of its link's state,
// and the kernel refuses a route with them.
const settableHopFlags = unix.RTNH_F_ONLINK | unix.RTNH_F_PERVASIVE

// routeMessage is a route without what ages and what tells of its links' state. Several next hops
// of IPv6 are listed in the order in which they came, and are the same in any.
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

// routeAttribute is one attribute of a route, nil if it is not there.
func routeAttribute(m []byte, kind uint16) []byte { return sys.Attribute(m[unix.SizeofRtMsg:], kind) }

// without is a route without some of its attributes.
func without(m []byte, kinds ...uint16) []byte {
	out := bytes.Clone(m[:unix.SizeofRtMsg])
	sys.EachAttribute(m[unix.SizeofRtMsg:], func(kind uint16, whole, _ []byte) {
		if !slices.Contains(kinds, kind) {
			out = append(out, whole...)
		}
	})
	return out
}

// onLinks is a route without the next hops whose links are gone, nil if nothing is left of it. Of a
// next hop whose link is gone the kernel may say that it is unreachable, and a caller would try for
// ever; or that there is no such device, and the route's other next hops would be lost with it.
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

// byObject is a route without the next hops of the nexthop object that it names. The kernel lists
// both, and takes one of them. Where the object drops packets it lists the route as one that does.
func byObject(m []byte) []byte {
	if routeAttribute(m, rtnl.NexthopID) == nil {
		return m
	}
	m = without(m, unix.RTA_OIF, unix.RTA_GATEWAY, unix.RTA_VIA, unix.RTA_MULTIPATH)
	m[7] = unix.RTN_UNICAST
	return m
}

// sendRoute sends a route that was listed, to be made or to be removed. One of IPv6 with several
// next hops is a route for each of them, of which one that is there would refuse all.
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

// lifetime is how many seconds a route has still to live, 0 for ever. One from a
// router advertisement that came back for ever would outlive its router.
func lifetime(m []byte) (seconds uint32) {
	cache := routeAttribute(m, unix.RTA_CACHEINFO)
	if ticks := int32(sys.Number(cache[min(8, len(cache)):])); ticks > 0 {
		seconds = uint32(ticks)/sys.Ticks + 1
	}
	return seconds
}
