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

// listAddresses lists the addresses but for temporary ones of IPv6. The kernel makes those beside
// the address that they belong to, and from anybody else it takes one as an ordinary address
// (net/ipv6/addrconf.c, manage_tempaddrs and inet6_rtm_newaddr).
func listAddresses(ctx context.Context) ([][]byte, error) {
	return rawList(ctx, "addresses", unix.RTM_GETADDR, unix.SizeofIfAddrmsg, func(m []byte) []byte {
		if m[0] == unix.AF_INET6 && m[2]&unix.IFA_F_TEMPORARY != 0 {
			return nil
		}
		return m
	})
}

// addressID is what tells one address from another: family, length, link and address.
func addressID(m []byte) string {
	body := m[unix.SizeofIfAddrmsg:]
	return string(slices.Concat(m[:2], m[4:8], sys.Attribute(body, unix.IFA_LOCAL), sys.Attribute(body, unix.IFA_ADDRESS)))
}

// restoreAddresses takes away those that were made, and brings those back that are gone, in the
// order in which they were: of those of a network the kernel speaks by the first. One of IPv6 is
// tentative again when it was taken off for that. cost are routes of others that went on the way.
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

// PutOthersBehind puts addresses of IPv4 that came since behind those that [Writer.Restore] brought
// back, and brings routes back that go on the way. It is for when the managers of links have done
// what they were told: an address that is moved while its manager removes it stays.
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

// moves are those of all links by how a link gets its addresses of IPv4.
func (s State) moves(now [][]byte, how func(wanted, have [][]byte) (off, on [][]byte)) (off, on [][]byte) {
	have, theirs := ofLinks(now), s.hasWriters()
	for link, list := range ofLinks(s.Addresses) {
		away, back := how(list, have[link])
		on = append(on, back...)
		if !theirs(link) { // services go on
			off = append(off, away...)
		}
	}
	return off, on
}

// moveAddresses takes those of off away, the last first, and then adds those of on. cost are routes
// of others that go on the way.
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

// places are where addresses stand in a list.
func places(list [][]byte) map[string]int {
	out := make(map[string]int, len(list))
	for i, m := range list {
		out[addressID(m)] = i
	}
	return out
}

// ofIPv6 are those of some addresses that are of IPv6, the oldest first. The newest is listed
// first.
func ofIPv6(list [][]byte, some map[string]int) (out [][]byte) {
	for _, m := range slices.Backward(list) {
		if _, is := some[addressID(m)]; is && m[0] == unix.AF_INET6 {
			out = append(out, m)
		}
	}
	return out
}

// ofLinks are addresses of IPv4 by the numbers of their links, as they are listed: the primary ones
// in the order in which they came, and then the secondary ones.
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

// inOrder says how a link gets the wanted IPv4 addresses in their order: by taking those of off
// away, and then adding those of on, from the first on that stands elsewhere. The kernel adds an
// address behind those that are there, makes it secondary to one of its network, and may remove it
// with that one (net/ipv4/devinet.c, __inet_insert_ifa and __inet_del_ifa).
func inOrder(wanted, have [][]byte) (off, on [][]byte) {
	off, on = among(have, wanted), slices.Clone(wanted)
	for len(off) > 0 && addressID(off[0]) == addressID(on[0]) {
		off, on = off[1:], on[1:]
	}
	is := places(off)
	for n, m := range on {
		if i, there := is[addressID(m)]; there {
			on[n] = off[i] // with what is left of its life
		}
	}
	return off, on
}

// othersBehind says how a link gets the wanted IPv4 addresses before those of others, from the
// first on that became secondary to one of these.
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

// among are those of a list that are some of others.
func among(list, others [][]byte) [][]byte {
	some := places(others)
	return slices.DeleteFunc(slices.Clone(list), func(m []byte) bool {
		_, is := some[addressID(m)]
		return !is
	})
}

// network is that of an address of IPv4.
func network(m []byte) netip.Prefix {
	to, _ := netip.AddrFromSlice(sys.Attribute(m[unix.SizeofIfAddrmsg:], unix.IFA_ADDRESS))
	return netip.PrefixFrom(to, int(m[1])).Masked()
}

// besides are routes that came since, but for ours and the kernel's, and those by a nexthop object,
// which do not go with an address.
func besides(now, was [][]byte) [][]byte {
	return slices.DeleteFunc(missing(now, was), func(m []byte) bool {
		return m[5] == rtnl.RouteProtocol || m[5] == unix.RTPROT_KERNEL || advertised(m) ||
			routeAttribute(m, rtnl.NexthopID) != nil
	})
}

// isAddress says that a message tells of an address on the link of its name.
func (w *Writer) isAddress(ctx context.Context, m []byte, a rtnl.LinkAddress) bool {
	l, err := w.net.Link(ctx, a.Link)
	is := func(kind uint16) bool {
		return bytes.Equal(sys.Attribute(m[unix.SizeofIfAddrmsg:], kind), a.Prefix.Addr().AsSlice())
	}
	return err == nil && linkOf(m) == l.Index && int(m[1]) == a.Prefix.Bits() && (is(unix.IFA_LOCAL) || is(unix.IFA_ADDRESS))
}
