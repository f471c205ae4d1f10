package rtnl

import (
	"context"
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

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

// hearRouters are the links on which the kernel itself acts on router advertisements
// (net/ipv6/ndisc.c, ipv6_accept_ra), and not networkd or NetworkManager, which keep it from that.
// They are asked for only if one of the routes is of an advertisement.
func (back restoring) hearRouters(ctx context.Context, routes [][]byte) (map[int]bool, error) {
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
