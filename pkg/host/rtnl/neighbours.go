package rtnl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Neighbour is a host on a link that has answered to ARP or NDP there.
type Neighbour struct {
	Link string
	Addr netip.Addr // without a zone
	// Fresh means that it answered within about the last half minute (NUD_REACHABLE).
	Fresh bool
}

// Neighbours lists the neighbours that have answered, by link and address. It leaves out permanent
// entries, entries that another program learned (NTF_EXT_LEARNED), and links without address
// resolution. A checkpoint chooses from them the hosts that it probes. It may be retried.
func (n *Reader) Neighbours(ctx context.Context) ([]Neighbour, error) {
	names, err := n.names(ctx)
	if err != nil {
		return nil, err
	}
	list, err := n.neighbours(ctx, 0, netlink.FAMILY_ALL)
	if err != nil {
		return nil, err
	}
	var out []Neighbour
	for _, e := range list {
		addr, ok := netip.AddrFromSlice(e.IP)
		link, learnt := names[e.LinkIndex], e.Flags&netlink.NTF_EXT_LEARNED != 0
		if !ok || link == "" || learnt || e.State&answered == 0 {
			continue
		}
		fresh := e.State&unix.NUD_REACHABLE != 0
		out = append(out, Neighbour{Link: link, Addr: addr.Unmap(), Fresh: fresh})
	}
	return sorted(out, func(a, b Neighbour) int {
		return cmp.Or(cmp.Compare(a.Link, b.Link), a.Addr.Compare(b.Addr))
	}), nil
}

// neighbours lists the entries of a link (0: of all links) in a family.
func (n *Reader) neighbours(ctx context.Context, link, family int) ([]netlink.Neigh, error) {
	rt, err := n.rt(ctx)
	if err != nil {
		return nil, err
	}
	return sys.Dump(ctx, "neighbours", func() ([]netlink.Neigh, error) { return rt.NeighList(link, family) })
}

// ForgetNeighbours removes the entries that the kernel learned; the kernel then asks again. The
// undo calls it after it has restored the sysctls: a request in progress keeps the retry times of
// its start, which may be hours. Permanent entries, and entries that another program learned, stay.
// It may be retried.
func (w *Writer) ForgetNeighbours(ctx context.Context) error {
	list, err := w.net.neighbours(ctx, 0, netlink.FAMILY_ALL)
	errs := []error{err}
	for _, e := range list {
		if e.State&unasked != 0 || e.Flags&netlink.NTF_EXT_LEARNED != 0 {
			continue
		}
		if err := w.net.opened().NeighDel(&e); err != nil && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("forget neighbour %s: %w", e.IP, err))
		}
	}
	return errors.Join(errs...)
}

// answered are the states of an entry whose address is resolved (linux/neighbour.h).
const answered = unix.NUD_REACHABLE | unix.NUD_STALE | unix.NUD_DELAY | unix.NUD_PROBE
