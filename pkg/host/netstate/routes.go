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

// restoreRoutes restores routes and the nexthop objects that they name. It makes several rounds,
// because a route or object needs a route to its next hop. If an object cannot be restored, the
// last rounds restore its routes with the object's next hops instead.
func (w *Writer) restoreRoutes(ctx context.Context, was State) error {
	links, err := w.net.Links(ctx)
	if err != nil {
		return err
	}
	objects := restoreNexthops(ctx, was)
	routes, expires, err := listRoutes(ctx)
	if err != nil {
		return err
	}
	had := setOf(was.Routes)
	var errs, failed []error
	var now [][]byte // except those that would lose their lifetime
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
				objects = restoreNexthops(ctx, was)
			}
		}
	}
	errs = append(append(errs, failed...), objects)
	if w.log != nil {
		w.log.Info("network brought back", zap.Int("routes not brought back", len(gone)))
	}
	return errors.Join(errs...)
}

// withLifetime adds the remaining lifetime to a route's message.
func (s State) withLifetime(m []byte) []byte {
	i := slices.IndexFunc(s.Routes, func(r []byte) bool { return bytes.Equal(r, m) })
	if i < 0 || i >= len(s.Expires) || s.Expires[i] == 0 {
		return m
	}
	out := binary.NativeEndian.AppendUint16(bytes.Clone(m), 8)
	out = binary.NativeEndian.AppendUint16(out, unix.RTA_EXPIRES)
	return binary.NativeEndian.AppendUint32(out, s.Expires[i])
}

// missingRoutes returns the missing routes, in the order and with the flags that put each in its
// old place. Among routes with the same destination and metric, the kernel uses the first. For
// IPv4, missing routes before an existing one are added at the front, the last of them first, and
// the others at the end. For IPv6, the kernel adds a new route at the end. So the routes of off,
// which were behind a missing one, are removed and added again.
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

// routeKey returns what identifies a route in the kernel: family, destination, source, type of
// service, table, metric.
func routeKey(m []byte) string {
	at := string(m[:5])
	for _, kind := range []uint16{unix.RTA_DST, unix.RTA_SRC, unix.RTA_TABLE, unix.RTA_PRIORITY} {
		at += fmt.Sprintf(" %x", routeAttribute(m, kind))
	}
	return at
}

func routeLink(m []byte) (index int, there bool) {
	b := routeAttribute(m, unix.RTA_OIF)
	return sys.Number(b), b != nil
}

// Indexes into a link's IPv6 settings (linux/ipv6.h).
const (
	confForwarding = 0 // DEVCONF_FORWARDING
	confAcceptRA   = 3 // DEVCONF_ACCEPT_RA
)

// advertisedLinks returns the links on which the kernel itself handles router advertisements
// (net/ipv6/ndisc.c, ipv6_accept_ra). On the others, networkd or NetworkManager handle them and
// switch the kernel's handling off. The links are read only if one of the routes is from an
// advertisement.
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

// advertised reports whether a route is a default route from a router advertisement, no matter
// which program added it.
func advertised(m []byte) bool {
	return m[0] == unix.AF_INET6 && m[1] == 0 && m[5] == unix.RTPROT_RA && m[7] == unix.RTN_UNICAST
}

// standIn returns a route in the form in which it is restored. A default route that the kernel had
// from a router advertisement gets a metric one higher. The kernel marks its own route by a flag
// that no program can set. If another route is in its place, the kernel ignores the rest of each
// advertisement (net/ipv6/ndisc.c, ndisc_router_discovery), and the addresses of the link expire.
// With the higher metric, the kernel adds its own route at the next advertisement, and this one
// expires later.
func standIn(m []byte, hear map[int]bool) []byte {
	link, _ := routeLink(m)
	if !advertised(m) || !hear[link] {
		return m
	}
	metric := sys.Number(routeAttribute(m, unix.RTA_PRIORITY))
	return append(without(m, unix.RTA_PRIORITY),
		sys.NumberAttribute(unix.RTA_PRIORITY, uint32(metric+1))...)
}
