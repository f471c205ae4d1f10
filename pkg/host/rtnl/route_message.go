package rtnl

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

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
	several := sys.Attribute(out[routeHead:], unix.RTA_MULTIPATH)
	var hops []string
	for hop := range hopsOf(several) {
		hop[2] &= settableHopFlags
		hops = append(hops, string(hop))
	}
	slices.Sort(hops)
	if out[0] == unix.AF_INET6 {
		copy(several, strings.Join(hops, ""))
	}
	return out
}

// without is a route without some of its attributes.
func without(m []byte, kinds ...uint16) []byte {
	out := bytes.Clone(m[:routeHead])
	sys.EachAttribute(m[routeHead:], func(kind uint16, whole, _ []byte) {
		if !slices.Contains(kinds, kind) {
			out = append(out, whole...)
		}
	})
	return out
}

// hopsOf are the next hops of a route that has several: RTA_MULTIPATH is a row of rtnexthop, each
// up to where the next one may begin.
func hopsOf(b []byte) iter.Seq[[]byte] {
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

// onLinks is a route without the next hops whose links are gone, nil if nothing is left of it. The
// kernel may say of a next hop without its link that it is unreachable, which would never end, or
// that there is no such device, which says nothing of the route's other next hops.
func onLinks(m []byte, links []Link) []byte {
	there := func(index int) bool {
		return slices.ContainsFunc(links, func(l Link) bool { return l.Index == index })
	}
	if on := sys.Attribute(m[routeHead:], unix.RTA_OIF); on != nil && !there(number(on)) {
		return nil
	}
	several := sys.Attribute(m[routeHead:], unix.RTA_MULTIPATH)
	if several == nil {
		return m
	}
	var left []byte
	for hop := range hopsOf(several) {
		if there(number(hop[4:])) {
			left = append(left, hop...)
		}
	}
	if left == nil {
		return nil
	}
	return append(without(m, unix.RTA_MULTIPATH), attribute(unix.RTA_MULTIPATH, left)...)
}

// missingRoutes are the routes that are gone, in the order and with the flags by which they stand
// where they stood. Of several of IPv4 to the same destination with the same metric the kernel
// goes by the first. So those before one that is there are put first, the last of them first of
// all, and the others last.
func (s NetState) missingRoutes(now NetState) (gone [][]byte, flags map[string]int) {
	flags = map[string]int{}
	for _, m := range missing(s.Routes, now.Routes) {
		if onLinks(m, now.Links) != nil {
			flags[string(m)] = unix.NLM_F_CREATE
		}
	}
	var last [][]byte
	behind := map[string]bool{}
	for _, m := range s.Routes {
		_, away := flags[string(m)]
		switch at := routeKey(m); {
		case m[0] == unix.AF_INET && away && behind[at]:
			flags[string(m)] |= unix.NLM_F_APPEND
			last = append(last, m)
		case away:
			gone = append(gone, m)
		default:
			behind[at] = true
		}
	}
	slices.Reverse(gone)
	return append(gone, last...), flags
}

// routeKey is what the kernel tells routes by: family, destination, source, type of service,
// table, metric.
func routeKey(m []byte) string {
	at := string(m[:5])
	for _, kind := range []uint16{unix.RTA_DST, unix.RTA_SRC, unix.RTA_TABLE, unix.RTA_PRIORITY} {
		at += fmt.Sprintf(" %x", sys.Attribute(m[routeHead:], kind))
	}
	return at
}

// sendRoute sends a route that was listed, to be made or to be removed. The kernel lists more than
// it takes. Of one by a nexthop object it lists the object's next hops, too, and takes one of the
// two: where the object has gone with its link, these stand for it. And a route of IPv6 with
// several next hops is a route for each of them, of which one that is there would refuse all.
func sendRoute(what string, kind, flags int, m []byte, fine ...unix.Errno) error {
	if sys.Attribute(m[routeHead:], nexthopID) != nil {
		byObject := without(m, unix.RTA_OIF, unix.RTA_GATEWAY, unix.RTA_VIA, unix.RTA_MULTIPATH)
		if err := send(what, kind, flags, byObject, fine...); !errors.Is(err, unix.EINVAL) {
			return err
		}
		m = without(m, nexthopID)
	}
	several := sys.Attribute(m[routeHead:], unix.RTA_MULTIPATH)
	if m[0] != unix.AF_INET6 || several == nil {
		return send(what, kind, flags, m, fine...)
	}
	var errs []error
	for hop := range hopsOf(several) {
		one := append(without(m, unix.RTA_MULTIPATH), attribute(unix.RTA_MULTIPATH, hop)...)
		errs = append(errs, send(what, kind, flags, one, fine...))
	}
	return errors.Join(errs...)
}

// lifetime is how many seconds a route has still to live, 0 for ever. One from a
// router advertisement that came back for ever would outlive its router.
func lifetime(m []byte) (seconds uint32) {
	sys.EachAttribute(m[routeHead:], func(kind uint16, _, value []byte) {
		if kind == unix.RTA_CACHEINFO && len(value) >= 12 {
			if ticks := int32(binary.NativeEndian.Uint32(value[8:])); ticks > 0 {
				seconds = uint32(ticks)/100 + 1 // USER_HZ
			}
		}
	})
	return seconds
}

// advertised says that a route is a default route of a router advertisement, whoever acted on that.
func advertised(m []byte) bool {
	return m[0] == unix.AF_INET6 && m[1] == 0 && m[5] == unix.RTPROT_RA && m[7] == unix.RTN_UNICAST
}

// standIn is a route as it is brought back, which for a default route that the kernel had of a
// router advertisement is one with the next metric. The kernel knows its own by a flag that nobody
// can set. Where another stands in the place of its own it drops the rest of each advertisement
// (net/ipv6/ndisc.c, ndisc_router_discovery), so that the addresses of the link come to their end.
// Beside this one its own comes with the next advertisement, and this one ends with its life.
func standIn(m []byte, hear map[int]bool) []byte {
	link, _ := routeLink(m)
	if !advertised(m) || !hear[link] {
		return m
	}
	metric := number(sys.Attribute(m[routeHead:], unix.RTA_PRIORITY))
	return append(without(m, unix.RTA_PRIORITY),
		attribute(unix.RTA_PRIORITY, binary.NativeEndian.AppendUint32(nil, uint32(metric+1)))...)
}

// Of linux/ipv6.h: places in what the kernel says of a link's settings.
const (
	confForwarding = 0 // DEVCONF_FORWARDING
	confAcceptRA   = 3 // DEVCONF_ACCEPT_RA
)

// advertisedLinks are the links on which the kernel itself acts on router advertisements
// (net/ipv6/ndisc.c, ipv6_accept_ra), and not networkd or NetworkManager, which keep it from that.
// They are asked for only if one of the routes is of an advertisement.
func (back restoring) advertisedLinks(ctx context.Context, routes [][]byte) (map[int]bool, error) {
	if !slices.ContainsFunc(routes, advertised) {
		return nil, nil
	}
	settings, err := back.w.net.LinkSettings(ctx)
	if err != nil {
		return nil, err
	}
	names, err := back.w.net.names(ctx)
	hear := map[int]bool{}
	for index, name := range names {
		conf := []byte(settings["net/ipv6/conf/"+name])
		setting := func(at int) int { return number(conf[min(4*at, len(conf)):]) }
		accepts := setting(confAcceptRA)
		hear[index] = accepts == 2 || accepts != 0 && setting(confForwarding) == 0
	}
	return hear, err
}
