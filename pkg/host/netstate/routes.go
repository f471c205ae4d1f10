package netstate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// restoreRoutes brings routes back, and the nexthop objects that they name. It tries several
// rounds: a route by a next hop needs the one to that next hop, and so does an object. The next
// hops of an object stand for it in the end where it does not come back.
func (w *Writer) restoreRoutes(ctx context.Context, was State) error {
	links, err := w.net.Links(ctx)
	if err != nil {
		return err
	}
	objects := w.restoreNexthops(ctx, was)
	routes, expires, err := listRoutes(ctx)
	if err != nil {
		return err
	}
	had := setOf(was.Routes)
	var errs, failed []error
	var now [][]byte // but for what would not come back with the rest of its life
	for i, m := range routes {
		switch {
		case !had[string(m)] && m[5] == rtnl.RouteProtocol:
			errs = append(errs, sendRoute("remove a route", unix.RTM_DELROUTE, 0, byObject(m), unix.ESRCH))
		case had[string(m)] || expires[i] == 0:
			now = append(now, m)
		}
	}
	gone, off, flags := was.missingRoutes(now, links)
	hear, err := w.advertisedLinks(ctx, gone, links)
	errs = append(errs, err)
	for _, m := range off {
		errs = append(errs, sendRoute("take a route off for another before it", unix.RTM_DELROUTE, 0, byObject(m), unix.ESRCH))
	}
	for _, byHops := range []bool{false, true} {
		for last := len(gone) + 1; len(gone) > 0 && len(gone) < last; {
			last, failed = len(gone), nil
			left := gone[:0]
			for _, m := range gone {
				route := byObject(was.withLifetime(m))
				if byHops {
					route = without(was.withLifetime(m), rtnl.NexthopID)
				}
				route = onLinks(standIn(route, hear), links)
				if err := sendRoute("bring a route back", unix.RTM_NEWROUTE, flags[string(m)], route, unix.EEXIST,
					unix.ENODEV); err != nil {
					left, failed = append(left, m), append(failed, err)
				}
			}
			if gone = left; objects != nil {
				objects = w.restoreNexthops(ctx, was)
			}
		}
	}
	errs = append(append(errs, failed...), objects)
	if w.log != nil {
		w.log.Info("network brought back", zap.Int("routes not brought back", len(gone)))
	}
	return errors.Join(errs...)
}

// withLifetime is a route's message with the rest of its life.
func (s State) withLifetime(m []byte) []byte {
	i := slices.IndexFunc(s.Routes, func(r []byte) bool { return bytes.Equal(r, m) })
	if i < 0 || i >= len(s.Expires) || s.Expires[i] == 0 {
		return m
	}
	out := binary.NativeEndian.AppendUint16(bytes.Clone(m), 8)
	out = binary.NativeEndian.AppendUint16(out, unix.RTA_EXPIRES)
	return binary.NativeEndian.AppendUint32(out, s.Expires[i])
}

// missingRoutes are the routes that are gone, in the order and with the flags by which they stand
// where they stood. Of several to the same destination with the same metric the kernel goes by the
// first. Of IPv4 those before one that is there are put first, the last of them first of all, and
// the others last. A new one of IPv6 the kernel puts behind the others, so that those of off, which
// stood behind one that is gone, go and come back.
func (s State) missingRoutes(now [][]byte, links []rtnl.Link) (gone, off [][]byte, flags map[string]int) {
	flags = map[string]int{}
	for _, m := range missing(s.Routes, now) {
		if onLinks(m, links) != nil {
			flags[string(m)] = unix.NLM_F_CREATE
		}
	}
	is6 := func(m []byte) bool { return m[0] == unix.AF_INET6 }
	there := setOf(now)
	wanted := slices.DeleteFunc(slices.Clone(s.Routes), func(m []byte) bool {
		return !is6(m) || !there[string(m)] && flags[string(m)] == 0
	})
	off, last := reorder(wanted, slices.DeleteFunc(slices.Clone(now), func(m []byte) bool { return !is6(m) }), order{
		id: func(m []byte) string { return string(m) }, key: routeKey,
		fixed: func(m []byte) bool { return m[5] == unix.RTPROT_KERNEL || advertised(m) },
	})
	for _, m := range last {
		flags[string(m)] = unix.NLM_F_CREATE
	}
	behind := map[string]bool{}
	for _, m := range s.Routes {
		_, away := flags[string(m)]
		switch at := routeKey(m); {
		case is6(m):
		case away && behind[at]:
			flags[string(m)] |= unix.NLM_F_APPEND
			last = append(last, m)
		case away:
			gone = append(gone, m)
		default:
			behind[at] = true
		}
	}
	slices.Reverse(gone)
	return append(gone, last...), off, flags
}

// routeKey is what the kernel tells routes by: family, destination, source, type of service,
// table, metric.
func routeKey(m []byte) string {
	at := string(m[:5])
	for _, kind := range []uint16{unix.RTA_DST, unix.RTA_SRC, unix.RTA_TABLE, unix.RTA_PRIORITY} {
		at += fmt.Sprintf(" %x", routeAttribute(m, kind))
	}
	return at
}

func routeLink(m []byte) (index int, there bool) {
	b := routeAttribute(m, unix.RTA_OIF)
	if len(b) != 4 {
		return 0, false
	}
	return int(binary.NativeEndian.Uint32(b)), true
}

// Of linux/ipv6.h: places in what the kernel says of a link's settings.
const (
	confForwarding = 0 // DEVCONF_FORWARDING
	confAcceptRA   = 3 // DEVCONF_ACCEPT_RA
)

// advertisedLinks are the links on which the kernel itself acts on router advertisements
// (net/ipv6/ndisc.c, ipv6_accept_ra), and not networkd or NetworkManager, which keep it from that.
// They are asked for only if one of the routes is of an advertisement.
func (w *Writer) advertisedLinks(ctx context.Context, routes [][]byte, links []rtnl.Link) (map[int]bool, error) {
	if !slices.ContainsFunc(routes, advertised) {
		return nil, nil
	}
	settings, err := w.net.LinkSettings(ctx)
	if err != nil {
		return nil, err
	}
	hear := map[int]bool{}
	for _, l := range links {
		conf := []byte(settings["net/ipv6/conf/"+l.Name])
		setting := func(at int) int { return sys.Number(conf[min(4*at, len(conf)):]) }
		accepts := setting(confAcceptRA)
		hear[l.Index] = accepts == 2 || accepts != 0 && setting(confForwarding) == 0
	}
	return hear, nil
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
	metric := sys.Number(routeAttribute(m, unix.RTA_PRIORITY))
	return append(without(m, unix.RTA_PRIORITY),
		sys.NewAttribute(unix.RTA_PRIORITY, binary.NativeEndian.AppendUint32(nil, uint32(metric+1)))...)
}
