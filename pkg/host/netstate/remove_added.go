package netstate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// addedSince has what was added to a network as people and scripts add it, with ip(8). It leaves
// out what belongs to pods and to programs that run on the node. It also leaves out what a routing
// daemon, a DHCP client or the kernel added: these have protocol numbers of their own.
type addedSince struct {
	links      []string
	addresses  [][]byte
	routes     [][]byte
	rules      [][]byte
	nexthops   [][]byte
	neighbours [][]byte
	tables     map[string][][]byte
}

// RemoveAdded removes what was added since a state was recorded. It may be retried, and changes
// nothing if nothing was added.
func (w *Writer) RemoveAdded(ctx context.Context, was State) error {
	now, err := Read(ctx, w.net, was.Own...)
	if err != nil {
		return err
	}
	came := was.renumbered(now.Links).addedSince(now)
	var errs []error
	for _, name := range came.links {
		if err := w.delMade(ctx, name); !errors.Is(err, unix.EOPNOTSUPP) { // cannot be removed
			errs = append(errs, err)
		}
	}
	errs = append(errs, removeRules(came.rules))
	for _, m := range came.routes {
		errs = append(errs, sendRoute("remove a route", unix.RTM_DELROUTE, 0, byObject(m), unix.ESRCH, unix.ENODEV))
	}
	for _, m := range came.nexthops {
		errs = append(errs, removeNexthop(m))
	}
	errs = append(errs,
		sendAll(came.addresses, "remove an address", unix.RTM_DELADDR, 0, unix.EADDRNOTAVAIL, unix.ENODEV),
		sendAll(came.neighbours, "remove a neighbour", unix.RTM_DELNEIGH, 0, unix.ENOENT, unix.ENODEV))
	for _, t := range tables {
		for _, m := range came.tables[t.command] {
			errs = append(errs, changeEntry(t.remove, 0, m))
		}
	}
	return errors.Join(errs...)
}

func (s State) addedSince(now State) (out addedSince) {
	nodes, pods := map[int]bool{}, map[int]bool{}
	out.links = s.sortLinks(now, nodes, pods)
	had := places(s.Addresses)
	for _, m := range now.Addresses {
		if _, is := had[addressID(m)]; !is && nodes[linkOf(m)] && lasting(m) {
			out.addresses = append(out.addresses, m)
		}
	}
	for _, m := range missing(now.Routes, s.Routes) {
		link, there := routeLink(m)
		if byHand(m[5]) && (!there || nodes[link]) {
			out.routes = append(out.routes, m)
		}
	}
	if s.Nexthops != nil {
		out.nexthops = slices.DeleteFunc(now.Nexthops, func(m []byte) bool {
			same := func(o []byte) bool { return objectID(o) == objectID(m) }
			return !byHand(m[2]) || slices.ContainsFunc(s.Nexthops, same)
		})
	}
	theirs := func(m []byte) bool { return !nodes[linkOf(m)] || !byHand(writtenBy(m)) }
	if s.Neighbours != nil {
		out.neighbours = slices.DeleteFunc(missing(now.Neighbours, s.Neighbours), theirs)
	}
	if s.Entries != nil {
		out.neighbours = append(out.neighbours, slices.DeleteFunc(missing(now.Entries, s.Entries), theirs)...)
	}
	out.tables = map[string][][]byte{}
	for _, t := range tables {
		if before := s.Tables[t.command]; before != nil {
			out.tables[t.command] = slices.DeleteFunc(missing(now.Tables[t.command], before), func(m []byte) bool {
				link, by := t.of(m)
				return !byHand(by) || !nodes[link]
			})
		}
	}
	alone := now.routedOn(pods)
	for _, m := range missing(now.Rules, s.Rules) {
		if r := readRule(m); byHand(r.protocol) && !s.hasWriter(r.iif) && !s.hasWriter(r.oif) &&
			!alone[r.src] && !alone[r.dst] {
			out.rules = append(out.rules, m)
		}
	}
	return out
}

// sortLinks returns the names of links that were added. It puts the other links into nodes, which
// existed before, and into pods, which are those of pods and of other programs. A veth that existed
// before may be the uplink.
func (s State) sortLinks(now State, nodes, pods map[int]bool) (added []string) {
	before := map[int]bool{}
	for _, l := range s.Links {
		before[l.Index] = true
	}
	for _, l := range now.Links {
		switch {
		case s.hasWriter(l.Name), l.Kind == "veth" && !before[l.Index]:
			pods[l.Index] = true
		case before[l.Index]:
			nodes[l.Index] = true
		case !l.Physical && !l.Loopback:
			added = append(added, l.Name)
		}
	}
	return added
}

// byHand reports whether ip(8) writes this protocol, or a program that sets no protocol.
func byHand(protocol byte) bool {
	return protocol == unix.RTPROT_UNSPEC || protocol == unix.RTPROT_BOOT || protocol == unix.RTPROT_STATIC
}

// lasting reports whether an address has no lifetime and is no link-local address of the kernel.
func lasting(m []byte) bool {
	flags := cmp.Or(sys.Number(sys.Attribute(m[unix.SizeofIfAddrmsg:], unix.IFA_FLAGS)), int(m[2]))
	return flags&unix.IFA_F_PERMANENT != 0 && !(m[0] == unix.AF_INET6 && m[3] == unix.RT_SCOPE_LINK)
}

// routedOn returns the addresses that have a host route over one of the given links.
func (s State) routedOn(links map[int]bool) map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, m := range s.Routes {
		link, _ := routeLink(m)
		if dst, is := netip.AddrFromSlice(routeAttribute(m, unix.RTA_DST)); is &&
			int(m[1]) == dst.BitLen() && links[link] {
			out[dst] = true
		}
	}
	return out
}

// Lost describes what differs from the recorded network and cannot be restored: devices, links that
// other programs created, settings that the kernel refuses, queueing disciplines with classes. It
// leaves out the links of pods and of programs that run on the node.
func (w *Writer) Lost(ctx context.Context, was State) (out []string, err error) {
	now, err := Read(ctx, w.net, was.Own...)
	if err != nil {
		return nil, err
	}
	was = was.renumbered(now.Links)
	amiss := map[int][]string{} // by link
	note := func(link int, what string) {
		if !slices.Contains(amiss[link], what) {
			amiss[link] = append(amiss[link], what)
		}
	}
	for _, m := range missing(was.Qdiscs, now.Qdiscs) {
		note(linkOf(m), "queueing of link %s (tc qdisc)")
	}
	for _, t := range tables {
		for _, m := range missing(was.Tables[t.command], now.Tables[t.command]) {
			link, _ := t.of(m)
			note(link, "entries of link %s ("+t.command+")")
		}
	}
	for _, l := range was.Links {
		have := settings(now.Settings, l.Index) // every link has some
		switch {
		case was.hasWriter(l.Name):
		case have == nil && l.Kind != "veth":
			out = append(out, "link "+l.Name)
		case have != nil:
			if len(missing(settings(was.Settings, l.Index), have)) > 0 {
				note(l.Index, "settings of link %s (ip -d link)")
			}
			for _, what := range amiss[l.Index] {
				out = append(out, fmt.Sprintf(what, l.Name))
			}
		}
	}
	for _, m := range missing(was.Nexthops, now.Nexthops) {
		if byHand(m[2]) {
			out = append(out, fmt.Sprintf("nexthop object %d", objectID(m)))
		}
	}
	return out, nil
}
