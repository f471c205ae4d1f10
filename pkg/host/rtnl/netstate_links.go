package rtnl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// renamed is a link that has another name than it had.
type renamed struct{ now, was Link }

// restoreNames gives links their names back. Who looks after a link finds it by its name, as the
// files of networkd do, and so does all that follows here. Links of Kubernetes are renamed by who
// made them.
func (back restoring) restoreNames(ctx context.Context, was []Link) error {
	now, err := back.w.net.Links(ctx)
	if err != nil {
		return err
	}
	var list []renamed
	for _, l := range now {
		at := slices.IndexFunc(was, func(o Link) bool { return o.Index == l.Index && o.Name != l.Name })
		if at >= 0 && !sys.OfKubernetes(l.Name) && !sys.OfKubernetes(was[at].Name) {
			list = append(list, renamed{l, was[at]})
		}
	}
	var errs []error
	for _, r := range list { // two may have changed their names
		if slices.ContainsFunc(list, func(o renamed) bool { return o.was.Name == r.now.Name }) {
			errs = append(errs, back.rename(ctx, r, fmt.Sprintf("link-%d", r.was.Index)))
		}
	}
	for _, r := range list {
		errs = append(errs, back.rename(ctx, r, r.was.Name))
	}
	return errors.Join(errs...)
}

// rename gives a link a name, which may be another name of its own by now. Before Linux 6.2 it has
// to be down for that; it comes up with its other settings.
func (back restoring) rename(ctx context.Context, r renamed, name string) error {
	rt, err := back.w.net.rt(ctx)
	if err != nil {
		return err
	}
	link := &netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: r.now.Index}}
	err = rt.LinkSetName(link, name)
	if errors.Is(err, unix.EBUSY) && rt.LinkSetDown(link) == nil {
		err = rt.LinkSetName(link, name)
	}
	if o, _ := back.w.net.Link(ctx, name); errors.Is(err, unix.EEXIST) && o.Index == r.now.Index &&
		rt.LinkDelAltName(link, name) == nil {
		err = rt.LinkSetName(link, name)
	}
	if err != nil {
		return fmt.Errorf("bring link %s back, which is %s now: %w", r.was.Name, r.now.Name, err)
	}
	sys.Changed(back.w.log, "link renamed back", zap.String("link", name), zap.String("from", r.now.Name))
	return nil
}

// restoreAddresses takes away those that were made, and brings those back that are gone, in the
// order in which they were: of those of a network the kernel speaks by the first. cost are routes
// of others that went on the way.
func (back restoring) restoreAddresses(
	ctx context.Context, was NetState, made []LinkAddress,
) (cost [][]byte, err error) {
	had, err := back.w.net.NetState(ctx)
	if err != nil {
		return cost, err
	}
	var errs []error
	before := places(was.Addresses)
	for _, m := range had.Addresses {
		if _, there := before[addressID(m)]; !there &&
			slices.ContainsFunc(made, func(a LinkAddress) bool { return back.isAddress(ctx, m, a) }) {
			errs = append(errs, send("remove an address", unix.RTM_DELADDR, 0, m, unix.EADDRNOTAVAIL))
		}
	}
	now, err := rawList(ctx, "addresses", unix.RTM_GETADDR, unix.RTM_NEWADDR, addressHead)
	if err != nil {
		return cost, errors.Join(append(errs, err)...)
	}
	var wanted [][]byte
	present := places(now)
	for _, m := range slices.Backward(was.Addresses) { // of IPv6 the newest is listed first
		if _, there := present[addressID(m)]; m[0] == unix.AF_INET6 && !there {
			wanted = append(wanted, m)
		}
	}
	have, names := ofLinks(now), namesOf(was.Links)
	for link, list := range ofLinks(was.Addresses) {
		off, on := inOrder(list, have[link])
		if sys.OfKubernetes(names[int(link)]) { // services go on
			off = nil
		}
		for _, m := range slices.Backward(off) {
			errs = append(errs, send("take an address off for another before it", unix.RTM_DELADDR, 0, m,
				unix.EADDRNOTAVAIL, unix.ENODEV))
		}
		wanted = append(wanted, on...)
		if len(off) > 0 {
			cost = besides(had.Routes, was.Routes)
		}
	}
	for _, m := range wanted {
		errs = append(errs, send("bring an address back", unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, m,
			unix.EEXIST, unix.ENODEV))
	}
	return cost, errors.Join(errs...)
}

// places are where addresses stand in a list.
func places(list [][]byte) map[string]int {
	out := make(map[string]int, len(list))
	for i, m := range list {
		out[addressID(m)] = i
	}
	return out
}

// ofLinks are addresses of IPv4 by the numbers of their links, as they are listed: the primary ones
// in the order in which they came, and then the secondary ones.
func ofLinks(list [][]byte) map[uint32][][]byte {
	out := map[uint32][][]byte{}
	for _, m := range list {
		if m[0] == unix.AF_INET {
			link := binary.NativeEndian.Uint32(m[4:])
			out[link] = append(out[link], m)
		}
	}
	return out
}

// inOrder says which addresses of IPv4 a link has to lose, and which it then gets, so that it has
// those that are wanted, in their order. The kernel adds an address behind those that are there,
// and makes it secondary to one of its network (net/ipv4/devinet.c, __inet_insert_ifa).
func inOrder(wanted, have [][]byte) (off, on [][]byte) {
	should, is := places(wanted), places(have)
	right, last := 0, -1
	for ; right < len(wanted); right++ {
		i, there := is[addressID(wanted[right])]
		if !there || i <= last || (have[i][2]^wanted[right][2])&unix.IFA_F_SECONDARY != 0 {
			break
		}
		last = i
	}
	on = slices.Clone(wanted[right:])
	networks := map[netip.Prefix]bool{}
	for n, m := range on {
		networks[network(m)] = true
		if i, there := is[addressID(m)]; there {
			on[n] = have[i] // with what is left of its life
		}
	}
	for _, m := range have {
		switch i, known := should[addressID(m)]; {
		case known && i >= right:
			off = append(off, m)
		case !known && networks[network(m)]: // of others, and before them
			off, on = append(off, m), append(on, m)
		}
	}
	return off, on
}

// network is that of an address of IPv4.
func network(m []byte) netip.Prefix {
	to, _ := netip.AddrFromSlice(sys.Attribute(m[addressHead:], unix.IFA_ADDRESS))
	return netip.PrefixFrom(to, int(m[1])).Masked()
}

// besides are routes of IPv4 that came since, but for ours and the kernel's.
func besides(now, was [][]byte) [][]byte {
	return slices.DeleteFunc(missing(now, was), func(m []byte) bool {
		return m[0] != unix.AF_INET || m[5] == RouteProtocol || m[5] == unix.RTPROT_KERNEL
	})
}

// isAddress says that a message tells of an address on the link of its name.
func (back restoring) isAddress(ctx context.Context, m []byte, a LinkAddress) bool {
	l, err := back.w.net.link(ctx, a.Link)
	if err != nil || int(binary.NativeEndian.Uint32(m[4:])) != l.Attrs().Index || int(m[1]) != a.Prefix.Bits() {
		return false
	}
	is := false
	sys.EachAttribute(m[addressHead:], func(kind uint16, _, value []byte) {
		if addr, ok := netip.AddrFromSlice(value); ok && (kind == unix.IFA_LOCAL || kind == unix.IFA_ADDRESS) {
			is = is || addr == a.Prefix.Addr()
		}
	})
	return is
}

// Attributes of a neighbour (linux/neighbour.h).
const (
	neighbourCache    = 3  // NDA_CACHEINFO
	neighbourProbes   = 4  // NDA_PROBES
	neighbourProtocol = 12 // NDA_PROTOCOL
)

// writtenDown are the neighbours that somebody wrote down, as the kernel says them, without what
// ages. They go when their link goes down, and the kernel asks nobody in their place. Those of
// links of Kubernetes are their programs' to keep.
func writtenDown(ctx context.Context, links []Link) ([][]byte, error) {
	list, err := rawList(ctx, "neighbours", unix.RTM_GETNEIGH, unix.RTM_NEWNEIGH, neighbourHead)
	names, out := namesOf(links), [][]byte{}
	for _, m := range list {
		permanent := binary.NativeEndian.Uint16(m[8:])&unix.NUD_PERMANENT != 0 && m[10]&unix.NTF_EXT_LEARNED == 0
		if permanent && !sys.OfKubernetes(names[int(binary.NativeEndian.Uint32(m[4:]))]) {
			out = append(out, without(m, neighbourCache, neighbourProbes)) // its head is as long as a route's
		}
	}
	return out, err
}

// writtenBy is the protocol of who wrote a neighbour down.
func writtenBy(m []byte) byte {
	if b := sys.Attribute(m[neighbourHead:], neighbourProtocol); len(b) == 1 {
		return b[0]
	}
	return unix.RTPROT_UNSPEC
}

func (back restoring) restoreNeighbours(ctx context.Context, was NetState) error {
	links, err := back.w.net.Links(ctx)
	if err != nil {
		return err
	}
	now, err := writtenDown(ctx, links)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range missing(was.Neighbours, now) {
		errs = append(errs, send("bring a neighbour back", unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, m,
			unix.ENODEV))
	}
	return errors.Join(errs...)
}
