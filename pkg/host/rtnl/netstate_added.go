package rtnl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// addedSince is what a network has that it had not before, and that a program which nobody knows
// may have made: what people and scripts make with ip(8). What comes and goes with pods is left
// out, and what a routing daemon, a DHCP client or the kernel made: those have protocols of their
// own.
type addedSince struct {
	links      []string
	addresses  [][]byte
	routes     [][]byte
	rules      [][]byte
	neighbours [][]byte
}

// RemoveAdded takes that away. It may be retried, and changes nothing when nothing came.
func (w *Writer) RemoveAdded(ctx context.Context, was NetState) error {
	now, err := w.net.NetState(ctx)
	if err != nil {
		return err
	}
	came := was.addedSince(now)
	var errs []error
	for _, name := range came.links {
		if err := w.delMade(ctx, name); !errors.Is(err, unix.EOPNOTSUPP) { // the kernel's own, which no one removes
			errs = append(errs, err)
		}
	}
	for _, m := range came.rules {
		errs = append(errs, send("remove a policy rule", unix.RTM_DELRULE, 0, m, unix.ENOENT))
	}
	for _, m := range came.routes {
		errs = append(errs, sendRoute("remove a route", unix.RTM_DELROUTE, 0, m, unix.ESRCH, unix.ENODEV))
	}
	for _, m := range came.addresses {
		errs = append(errs, send("remove an address", unix.RTM_DELADDR, 0, m, unix.EADDRNOTAVAIL, unix.ENODEV))
	}
	for _, m := range came.neighbours {
		errs = append(errs, send("remove a neighbour", unix.RTM_DELNEIGH, 0, m, unix.ENOENT, unix.ENODEV))
	}
	return errors.Join(errs...)
}

func (s NetState) addedSince(now NetState) (out addedSince) {
	before := map[int]bool{}
	for _, l := range s.Links {
		before[l.Index] = true
	}
	nodes := map[int]bool{} // links that were there, and are not of Kubernetes; a veth may be the uplink
	pods := map[int]bool{}
	for _, l := range now.Links {
		switch {
		case sys.OfKubernetes(l.Name), l.Kind == "veth" && !before[l.Index]:
			pods[l.Index] = true
		case before[l.Index]:
			nodes[l.Index] = true
		case !l.Physical && !l.Loopback:
			out.links = append(out.links, l.Name)
		}
	}
	ids := map[string]bool{}
	for _, m := range s.Addresses {
		ids[addressID(m)] = true
	}
	for _, m := range now.Addresses {
		if !ids[addressID(m)] && nodes[int(binary.NativeEndian.Uint32(m[4:]))] && lasting(m) {
			out.addresses = append(out.addresses, m)
		}
	}
	for _, m := range missing(now.Routes, s.Routes) {
		link, there := routeLink(m)
		if byHand(m[5]) && (!there || nodes[link]) {
			out.routes = append(out.routes, m)
		}
	}
	if s.Neighbours != nil {
		out.neighbours = slices.DeleteFunc(missing(now.Neighbours, s.Neighbours),
			func(m []byte) bool { return !nodes[int(binary.NativeEndian.Uint32(m[4:]))] || !byHand(writtenBy(m)) })
	}
	alone := now.routedOn(pods)
	for _, m := range missing(now.Rules, s.Rules) {
		if r := readRule(m); byHand(r.protocol) && !sys.OfKubernetes(r.iif) && !sys.OfKubernetes(r.oif) &&
			!alone[r.src] && !alone[r.dst] {
			out.rules = append(out.rules, m)
		}
	}
	return out
}

// byHand says that ip(8) writes the protocol, or nobody who says who he is.
func byHand(protocol byte) bool {
	return protocol == unix.RTPROT_UNSPEC || protocol == unix.RTPROT_BOOT || protocol == unix.RTPROT_STATIC
}

// lasting says that an address is for ever, and not one that the kernel makes for a link.
func lasting(m []byte) bool {
	flags := uint32(m[2])
	if b := sys.Attribute(m[addressHead:], unix.IFA_FLAGS); len(b) == 4 {
		flags = binary.NativeEndian.Uint32(b)
	}
	return flags&unix.IFA_F_PERMANENT != 0 && !(m[0] == unix.AF_INET6 && m[3] == unix.RT_SCOPE_LINK)
}

func routeLink(m []byte) (index int, there bool) {
	b := sys.Attribute(m[routeHead:], unix.RTA_OIF)
	if len(b) != 4 {
		return 0, false
	}
	return int(binary.NativeEndian.Uint32(b)), true
}

// routedOn are the addresses that a route of their own leads to over one of some links.
func (s NetState) routedOn(links map[int]bool) map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, m := range s.Routes {
		link, _ := routeLink(m)
		if dst, is := netip.AddrFromSlice(sys.Attribute(m[routeHead:], unix.RTA_DST)); is &&
			int(m[1]) == dst.BitLen() && links[link] {
			out[dst] = true
		}
	}
	return out
}

// readRule is what a rule's message says of who made it and for whom. src and dst are of single
// addresses, else invalid.
func readRule(m []byte) (out struct {
	protocol byte
	iif, oif string
	src, dst netip.Addr
}) {
	body := m[ruleHead:]
	if b := sys.Attribute(body, nl.FRA_PROTOCOL); len(b) == 1 {
		out.protocol = b[0]
	}
	out.iif, out.oif = sys.AttributeText(body, nl.FRA_IIFNAME), sys.AttributeText(body, nl.FRA_OIFNAME)
	single := func(kind uint16, bits byte) netip.Addr {
		if a, is := netip.AddrFromSlice(sys.Attribute(body, kind)); is && a.BitLen() == int(bits) {
			return a
		}
		return netip.Addr{}
	}
	out.dst, out.src = single(nl.FRA_DST, m[1]), single(nl.FRA_SRC, m[2])
	return out
}

// Lost says which links of before are gone for good: devices, and what others than us made. Those
// of pods go with their pods.
func (w *Writer) Lost(ctx context.Context, was NetState) (out []string, err error) {
	now, err := w.net.Links(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range was.Links {
		there := slices.ContainsFunc(now, func(o Link) bool { return o.Index == l.Index })
		if !there && l.Kind != "veth" && !sys.OfKubernetes(l.Name) {
			out = append(out, fmt.Sprintf("link %s", l.Name))
		}
	}
	return out, nil
}
