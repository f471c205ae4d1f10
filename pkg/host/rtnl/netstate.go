package rtnl

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

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
	// Neighbours are those that somebody wrote down; nil: an earlier release did not look.
	Neighbours [][]byte `json:"neighbours,omitzero"`
	// Expires has the seconds that the route at each index had still to live; 0: for ever.
	Expires []uint32 `json:"expires"`
}

// Sizes of the fixed heads of the messages (linux/if_addr.h, rtnetlink.h, fib_rules.h).
const (
	addressHead = 8
	routeHead   = 12
	ruleHead    = 12
	// linux/neighbour.h, ndmsg
	neighbourHead = 12
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
	if out.Neighbours, err = writtenDown(ctx, out.Links); err != nil {
		return out, err
	}
	rules, err := rawList(ctx, "policy rules", unix.RTM_GETRULE, unix.RTM_NEWRULE, ruleHead)
	for _, m := range rules {
		if m[0] == unix.AF_INET || m[0] == unix.AF_INET6 {
			out.Rules = append(out.Rules, ruleMessage(m))
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
	return slices.DeleteFunc(list, func(m []byte) bool { return len(m) < head }), err
}

// ruleMessage is a rule without what tells whether its link is there now, which the kernel says
// among its flags. The others say what it matches: all but what it names (`not`), and the source
// address that a route would choose.
func ruleMessage(m []byte) []byte {
	m = bytes.Clone(m)
	flags := binary.NativeEndian.Uint32(m[8:]) & (unix.FIB_RULE_INVERT | unix.FIB_RULE_FIND_SADDR)
	binary.NativeEndian.PutUint32(m[8:], flags)
	return m
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
