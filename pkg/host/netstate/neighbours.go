package netstate

import (
	"context"
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Attributes of a neighbour (linux/neighbour.h).
const (
	neighbourCache    = 3  // NDA_CACHEINFO
	neighbourProbes   = 4  // NDA_PROBES
	neighbourProtocol = 12 // NDA_PROTOCOL
	neighbourNexthop  = 13 // NDA_NH_ID
)

// Offsets in the head of a neighbour's message (linux/neighbour.h, ndmsg).
const (
	neighbourState = 8
	neighbourFlags = 10
)

// writtenDown are the neighbours that somebody wrote down, as the kernel says them, without what
// ages. They go when their link goes down, and the kernel asks nobody in their place. Those of
// links of Kubernetes are their programs' to keep.
func (s State) writtenDown(ctx context.Context) ([][]byte, error) {
	theirs := s.hasWriters()
	return rawList(ctx, "neighbours", unix.RTM_GETNEIGH, unix.SizeofNdMsg, func(m []byte) []byte {
		state := binary.NativeEndian.Uint16(m[neighbourState:])
		if state&unix.NUD_PERMANENT == 0 || m[neighbourFlags]&unix.NTF_EXT_LEARNED != 0 || theirs(linkOf(m)) {
			return nil
		}
		return without(m, neighbourCache, neighbourProbes) // its head is as long as a route's
	})
}

// listEntries lists the neighbours that the host answers for, and of the addresses that bridges and
// VXLANs forward to those that somebody wrote down: the static ones of a bridge, and with a next
// hop the permanent ones of a VXLAN. The other permanent ones are the kernel's, of a link's own
// address.
func (s State) listEntries(ctx context.Context) ([][]byte, error) {
	theirs := s.hasWriters()
	ask := make([]byte, unix.SizeofNdMsg)
	ask[neighbourFlags] = unix.NTF_PROXY
	proxied, err := rawList(ctx, "proxied neighbours", unix.RTM_GETNEIGH, unix.SizeofNdMsg, func(m []byte) []byte {
		if theirs(linkOf(m)) {
			return nil
		}
		return m
	}, ask...)
	if err != nil {
		return nil, err
	}
	forwarded, err := rawList(ctx, "addresses of bridges", unix.RTM_GETNEIGH, unix.SizeofNdMsg, func(m []byte) []byte {
		body, state := m[unix.SizeofNdMsg:], binary.NativeEndian.Uint16(m[neighbourState:])
		next := sys.Attribute(body, unix.NDA_DST) != nil || sys.Attribute(body, neighbourNexthop) != nil
		static := state&unix.NUD_NOARP != 0 || state&unix.NUD_PERMANENT != 0 && next
		if !static || m[neighbourFlags]&unix.NTF_EXT_LEARNED != 0 || theirs(linkOf(m)) {
			return nil
		}
		m = without(m, neighbourCache)
		m[neighbourFlags] &^= unix.NTF_OFFLOADED
		return m
	}, unix.AF_BRIDGE)
	return append(proxied, forwarded...), err
}

// writtenBy is the protocol of who wrote a neighbour down.
func writtenBy(m []byte) byte { return octet(sys.Attribute(m[unix.SizeofNdMsg:], neighbourProtocol)) }

func (w *Writer) restoreNeighbours(ctx context.Context, was State) error {
	links, err := w.net.Links(ctx)
	if err != nil {
		return err
	}
	is := State{Links: links, Own: was.Own}
	now, err := is.writtenDown(ctx)
	if err != nil {
		return err
	}
	entries, err := is.listEntries(ctx)
	if err != nil {
		return err
	}
	errs := []error{sendAll(missing(was.Neighbours, now), "bring a neighbour back", unix.RTM_NEWNEIGH,
		unix.NLM_F_CREATE|unix.NLM_F_REPLACE, unix.ENODEV)}
	for _, m := range missing(was.Entries, entries) {
		err := send("bring an entry of a link back", unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, m, unix.ENODEV)
		if errors.Is(err, unix.EOPNOTSUPP) { // of a VXLAN that sends to several, or of a port whose bridge is gone
			err = send("bring an entry of a link back", unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_APPEND, m,
				unix.EEXIST, unix.EOPNOTSUPP)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
