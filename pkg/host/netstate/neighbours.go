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

// writtenDown lists the permanent neighbours in the form of the kernel, without attributes that
// change with time. They are lost when their link goes down, and the kernel does not ask for them
// again. Neighbours on links of other programs ([State.hasWriter]) are left to these.
func (s State) writtenDown(ctx context.Context) ([][]byte, error) {
	theirs := s.hasWriters()
	return rawList(ctx, "neighbours", unix.RTM_GETNEIGH, unix.SizeofNdMsg, func(m []byte) []byte {
		state := binary.NativeEndian.Uint16(m[neighbourState:])
		if state&unix.NUD_PERMANENT == 0 || m[neighbourFlags]&unix.NTF_EXT_LEARNED != 0 || theirs(linkOf(m)) {
			return nil
		}
		return without(m, neighbourCache, neighbourProbes) // its header has the size of a route's
	})
}

// listEntries lists two kinds of entries that users add: proxied neighbours, for which the host
// answers; and forwarding entries of bridges and VXLANs. The forwarding entries are the static ones
// of a bridge, and the permanent ones of a VXLAN that have a next hop. The kernel makes the other
// permanent entries for the own address of a link.
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

// writtenBy returns the protocol of the program that added a neighbour.
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
		if errors.Is(err, unix.EOPNOTSUPP) { // VXLAN with several destinations; port without bridge
			err = send("bring an entry of a link back", unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_APPEND, m,
				unix.EEXIST, unix.EOPNOTSUPP)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
