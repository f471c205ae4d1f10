package netstate

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// listAddresses lists the addresses, except temporary IPv6 addresses. The kernel creates these for
// the address that they belong to. If another program adds one, the kernel takes it as an ordinary
// address (net/ipv6/addrconf.c, manage_tempaddrs and inet6_rtm_newaddr).
func listAddresses(ctx context.Context) ([][]byte, error) {
	return rawList(ctx, "addresses", unix.RTM_GETADDR, unix.SizeofIfAddrmsg, func(m []byte) []byte {
		if m[0] == unix.AF_INET6 && m[2]&unix.IFA_F_TEMPORARY != 0 {
			return nil
		}
		return m
	})
}

// addressID identifies an address: family, prefix length, link and address.
func addressID(m []byte) string {
	body := m[unix.SizeofIfAddrmsg:]
	return string(slices.Concat(m[:2], m[4:8], sys.Attribute(body, unix.IFA_LOCAL), sys.Attribute(body, unix.IFA_ADDRESS)))
}

// restoreAddresses removes the addresses that the change made and adds the missing ones again, in
// their old order: the kernel uses the first address of a network as the source. An IPv6 address
// that is removed and added again for the order becomes tentative again. cost are the routes of
// other programs that the kernel removes with addresses.
func (w *Writer) restoreAddresses(ctx context.Context, was State, made []rtnl.LinkAddress) (cost [][]byte, err error) {
	had, err := listAddresses(ctx)
	if err != nil {
		return cost, err
	}
	var errs []error
	before := places(was.Addresses)
	for _, m := range had {
		if _, there := before[addressID(m)]; !there &&
			slices.ContainsFunc(made, func(a rtnl.LinkAddress) bool { return w.isAddress(ctx, m, a) }) {
			errs = append(errs, send("remove an address", unix.RTM_DELADDR, 0, m, unix.EADDRNOTAVAIL))
		}
	}
	now, err := listAddresses(ctx)
	if err != nil {
		return cost, errors.Join(append(errs, err)...)
	}
	theirs := was.hasWriters()
	off, on := reorder(ofIPv6(was.Addresses, before), ofIPv6(now, before), order{
		id:    addressID,
		key:   func(m []byte) string { return string(m[3:8]) }, // a scope of a link
		fixed: func(m []byte) bool { return !lasting(m) || theirs(linkOf(m)) },
	})
	off4, on4 := was.moves(now, inOrder)
	cost, err = moveAddresses(ctx, was, append(off, off4...), append(on, on4...))
	return cost, errors.Join(append(errs, err)...)
}

// PutOthersBehind moves IPv4 addresses of other programs, added since, behind those that
// [Writer.Restore] brought back. It also restores the routes that the kernel removes meanwhile.
// Call it after the link managers have finished: an address that is moved while its manager removes
// it would stay.
func (w *Writer) PutOthersBehind(ctx context.Context, was State) error {
	now, err := listAddresses(ctx)
	if err != nil {
		return err
	}
	off, on := was.moves(now, othersBehind)
	if len(off) == 0 {
		return nil
	}
	cost, err := moveAddresses(ctx, was, off, on)
	was.Routes = slices.Concat(was.Routes, cost)
	return errors.Join(err, w.restoreRoutes(ctx, was))
}

// moves returns the changes that how returns for the IPv4 addresses of each link.
func (s State) moves(now [][]byte, how func(wanted, have [][]byte) (off, on [][]byte)) (off, on [][]byte) {
	have, theirs := ofLinks(now), s.hasWriters()
	for link, list := range ofLinks(s.Addresses) {
		away, back := how(list, have[link])
		on = append(on, back...)
		if !theirs(link) { // other programs' links go on working
			off = append(off, away...)
		}
	}
	return off, on
}

// moveAddresses removes the addresses of off, the last one first, and then adds those of on. cost
// are the routes of other programs that the kernel removes with addresses.
func moveAddresses(ctx context.Context, was State, off, on [][]byte) (cost [][]byte, err error) {
	if len(off) > 0 {
		routes, _, err := listRoutes(ctx)
		if err != nil {
			return nil, err
		}
		cost = besides(routes, was.Routes)
	}
	slices.Reverse(off)
	return cost, errors.Join(sendAll(off, "take an address off for another before it", unix.RTM_DELADDR, 0,
		unix.EADDRNOTAVAIL, unix.ENODEV),
		sendAll(on, "bring an address back", unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, unix.EEXIST, unix.ENODEV))
}

// places returns the index of each address in a list.
func places(list [][]byte) map[string]int {
	out := make(map[string]int, len(list))
	for i, m := range list {
		out[addressID(m)] = i
	}
	return out
}

// ofIPv6 returns the IPv6 addresses that are in both arguments, the oldest first. The kernel lists
// the newest first.
func ofIPv6(list [][]byte, some map[string]int) (out [][]byte) {
	for _, m := range slices.Backward(list) {
		if _, is := some[addressID(m)]; is && m[0] == unix.AF_INET6 {
			out = append(out, m)
		}
	}
	return out
}

// ofLinks groups IPv4 addresses by the index of their link, in the kernel's order: the primary ones
// in the order in which they were added, then the secondary ones.
//
//go:noinline
func ofLinks(list [][]byte) map[int][][]byte {
	out := map[int][][]byte{}
	for _, m := range list {
		if m[0] == unix.AF_INET {
			out[linkOf(m)] = append(out[linkOf(m)], m)
		}
	}
	return out
}

// inOrder returns how a link gets the wanted IPv4 addresses in their order: by removing the
// addresses of off, and then adding those of on. Both begin at the first address that is in another
// place. The kernel adds an address at the end. It makes the address secondary to an existing one
// of the same network, and may remove it together with that one (net/ipv4/devinet.c,
// __inet_insert_ifa and __inet_del_ifa).
func inOrder(wanted, have [][]byte) (off, on [][]byte) {
	off, on = among(have, wanted), slices.Clone(wanted)
	for len(off) > 0 && addressID(off[0]) == addressID(on[0]) {
		off, on = off[1:], on[1:]
	}
	is := places(off)
	for n, m := range on {
		if i, there := is[addressID(m)]; there {
			on[n] = off[i] // with its remaining lifetime
		}
	}
	return off, on
}

// othersBehind returns how a link gets the wanted IPv4 addresses before those of other programs. It
// begins at the first wanted address whose secondary flag has changed: it became secondary to one
// of these.
func othersBehind(wanted, have [][]byte) (off, on [][]byte) {
	should, is, networks := places(wanted), places(have), map[netip.Prefix]bool{}
	for _, m := range wanted {
		i, there := is[addressID(m)]
		if there && (len(on) > 0 || (have[i][2]^m[2])&unix.IFA_F_SECONDARY != 0) {
			on, networks[network(m)] = append(on, have[i]), true
		}
	}
	for _, m := range have {
		if _, known := should[addressID(m)]; !known && networks[network(m)] {
			on = append(on, m)
		}
	}
	return among(have, on), on
}

// among returns the addresses of list that are also in others.
func among(list, others [][]byte) [][]byte {
	some := places(others)
	return slices.DeleteFunc(slices.Clone(list), func(m []byte) bool {
		_, is := some[addressID(m)]
		return !is
	})
}

// network returns the network of an IPv4 address.
func network(m []byte) netip.Prefix {
	to, _ := netip.AddrFromSlice(sys.Attribute(m[unix.SizeofIfAddrmsg:], unix.IFA_ADDRESS))
	return netip.PrefixFrom(to, int(m[1])).Masked()
}

// besides returns the routes that were added since. It leaves out those of the agent, of the kernel
// and of router advertisements. It also leaves out those with a nexthop object, which the kernel
// does not remove with an address.
func besides(now, was [][]byte) [][]byte {
	return slices.DeleteFunc(missing(now, was), func(m []byte) bool {
		return m[5] == rtnl.RouteProtocol || m[5] == unix.RTPROT_KERNEL || advertised(m) ||
			routeAttribute(m, rtnl.NexthopID) != nil
	})
}

// isAddress reports whether a message is of the address a on the link with a's name.
func (w *Writer) isAddress(ctx context.Context, m []byte, a rtnl.LinkAddress) bool {
	l, err := w.net.Link(ctx, a.Link)
	is := func(kind uint16) bool {
		return bytes.Equal(sys.Attribute(m[unix.SizeofIfAddrmsg:], kind), a.Prefix.Addr().AsSlice())
	}
	return err == nil && linkOf(m) == l.Index && int(m[1]) == a.Prefix.Bits() && (is(unix.IFA_LOCAL) || is(unix.IFA_ADDRESS))
}
