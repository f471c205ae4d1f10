package rtnl

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// NetState is the network of a namespace as it was: addresses, routes and
// rules in rtnetlink's own messages, as `ip route save` keeps them, so that
// what comes back has every attribute that it had, also those that we do not
// know. It is of use until the next boot: links are named by their index.
type NetState struct {
	Links     []Link   `json:"links"`
	Addresses [][]byte `json:"addresses"`
	Routes    [][]byte `json:"routes"`
	Rules     [][]byte `json:"rules"`
	// Expires has the seconds that the route at each index had still to live; 0: for ever.
	Expires []uint32 `json:"expires"`
}

// Sizes of the fixed heads of the messages (linux/if_addr.h, rtnetlink.h, fib_rules.h).
const (
	addressHead = 8
	routeHead   = 12
	ruleHead    = 12
)

// NetState reads it. Routes and addresses that the kernel makes by itself are
// left out where it also brings them back by itself.
func (n *Reader) NetState(ctx context.Context) (out NetState, err error) {
	if err := n.ready(ctx); err != nil {
		return out, err
	}
	if out.Links, err = n.Links(ctx); err != nil {
		return out, err
	}
	if out.Addresses, err = rawList(ctx, "addresses", unix.RTM_GETADDR, unix.RTM_NEWADDR, addressHead); err != nil {
		return out, err
	}
	routes, err := rawList(ctx, "routes", unix.RTM_GETROUTE, unix.RTM_NEWROUTE, routeHead)
	if err != nil {
		return out, err
	}
	for _, m := range routes {
		if wantedRoute(m) {
			out.Routes, out.Expires = append(out.Routes, routeMessage(m)), append(out.Expires, lifetime(m))
		}
	}
	rules, err := rawList(ctx, "policy rules", unix.RTM_GETRULE, unix.RTM_NEWRULE, ruleHead)
	for _, m := range rules {
		if m[0] == unix.AF_INET || m[0] == unix.AF_INET6 {
			m = bytes.Clone(m)
			clear(m[8:12]) // whether its link is there now
			out.Rules = append(out.Rules, m)
		}
	}
	return out, err
}

// rawList lists objects as the kernel says them.
func rawList(ctx context.Context, what string, get, kind, head int) ([][]byte, error) {
	list, err := sys.Dump(ctx, what, func() ([][]byte, error) {
		req := nl.NewNetlinkRequest(get, unix.NLM_F_DUMP)
		req.AddRawData(make([]byte, head))
		return req.Execute(unix.NETLINK_ROUTE, uint16(kind))
	})
	out := list[:0]
	for _, m := range list {
		if len(m) >= head {
			out = append(out, m)
		}
	}
	return out, err
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

// routeMessage is a route without what ages and what tells of its link's state.
func routeMessage(m []byte) []byte {
	out := bytes.Clone(m[:routeHead])
	flags := binary.NativeEndian.Uint32(out[8:]) & (unix.RTNH_F_ONLINK | unix.RTNH_F_PERVASIVE)
	binary.NativeEndian.PutUint32(out[8:], flags)
	sys.EachAttribute(m[routeHead:], func(kind uint16, whole, _ []byte) {
		if kind != unix.RTA_CACHEINFO && kind != unix.RTA_EXPIRES {
			out = append(out, whole...)
		}
	})
	return out
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

// addressID is what tells one address from another: family, length, link and address.
func addressID(m []byte) string {
	id := append([]byte{m[0], m[1]}, m[4:8]...)
	var local, address []byte
	sys.EachAttribute(m[addressHead:], func(kind uint16, _, value []byte) {
		switch kind {
		case unix.IFA_LOCAL:
			local = value
		case unix.IFA_ADDRESS:
			address = value
		}
	})
	return string(append(append(id, local...), address...))
}
