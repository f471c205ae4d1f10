package rtnl

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// The pause between two looks at a probed neighbour starts at the first value and doubles up to the
// second. Most neighbours answer within a millisecond.
const (
	firstNeighbourPause = time.Millisecond
	mostNeighbourPause  = 20 * time.Millisecond
)

// unasked are the states of an entry that needs no probe: the entry is permanent, or the link needs
// no address resolution (point to point, NOARP).
const unasked = unix.NUD_PERMANENT | unix.NUD_NOARP

// ProbeNeighbour makes the kernel probe a neighbour again (ARP, NDP). It waits until the neighbour
// answers or ctx ends. An older answer does not count.
func (w *Writer) ProbeNeighbour(ctx context.Context, link string, addr netip.Addr) error {
	l, err := w.net.Link(ctx, link)
	if err != nil {
		return fmt.Errorf("ask neighbour %s: %w", addr, err)
	}
	family := netlink.FAMILY_V4
	if addr.Is6() {
		family = netlink.FAMILY_V6
	}
	look := func() (netlink.Neigh, error) {
		list, err := w.net.neighbours(ctx, l.Index, family)
		for _, n := range list {
			if got, _ := netip.AddrFromSlice(n.IP); got.Unmap() == addr.WithZone("") {
				return n, err
			}
		}
		return netlink.Neigh{LinkIndex: l.Index, Family: family, IP: addr.AsSlice()}, err
	}
	n, err := look()
	if err != nil {
		return fmt.Errorf("ask neighbour %s on link %s: %w", addr, link, err)
	}
	if n.State&unasked != 0 {
		return nil
	}
	ask := netlink.Neigh{LinkIndex: n.LinkIndex, Family: family, IP: n.IP, Flags: unix.NTF_USE, State: unix.NUD_NONE}
	if len(n.HardwareAddr) > 0 {
		ask.Flags, ask.State, ask.HardwareAddr = 0, unix.NUD_PROBE, n.HardwareAddr
	}
	if err := w.net.opened().NeighSet(&ask); err != nil {
		return fmt.Errorf("ask neighbour %s on link %s: %w", addr, link, err)
	}
	for pause := firstNeighbourPause; ; pause = min(2*pause, mostNeighbourPause) {
		switch n, err = look(); {
		case err != nil:
			return fmt.Errorf("ask neighbour %s on link %s: %w", addr, link, err)
		case n.State&(unix.NUD_REACHABLE|unasked) != 0:
			return nil
		case n.State&unix.NUD_FAILED != 0:
			return fmt.Errorf("neighbour %s on link %s does not answer", addr, link)
		}
		if !sys.Sleep(ctx, pause) {
			return fmt.Errorf("neighbour %s on link %s: %w", addr, link, context.Cause(ctx))
		}
	}
}
