package netstate

import (
	"context"
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
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
func writtenDown(ctx context.Context, of State) ([][]byte, error) {
	list, err := rawList(ctx, "neighbours", unix.RTM_GETNEIGH, unix.RTM_NEWNEIGH, unix.SizeofNdMsg)
	names, out := rtnl.NamesOf(of.Links), [][]byte{}
	for _, m := range list {
		permanent := binary.NativeEndian.Uint16(m[8:])&unix.NUD_PERMANENT != 0 && m[10]&unix.NTF_EXT_LEARNED == 0
		if permanent && !of.hasWriter(names[int(binary.NativeEndian.Uint32(m[4:]))]) {
			out = append(out, without(m, neighbourCache, neighbourProbes)) // its head is as long as a route's
		}
	}
	return out, err
}

// listEntries lists the neighbours that the host answers for, and of the addresses that bridges and
// VXLANs forward to those that somebody wrote down: the static ones of a bridge, and with a next
// hop the permanent ones of a VXLAN. The other permanent ones are the kernel's, of a link's own
// address.
func listEntries(ctx context.Context, of State) ([][]byte, error) {
	ask := make([]byte, unix.SizeofNdMsg)
	ask[neighbourFlags] = unix.NTF_PROXY
	list, err := rawList(ctx, "proxied neighbours", unix.RTM_GETNEIGH, unix.RTM_NEWNEIGH, unix.SizeofNdMsg, ask...)
	if err != nil {
		return nil, err
	}
	forwarded, err := rawList(ctx, "addresses of bridges", unix.RTM_GETNEIGH, unix.RTM_NEWNEIGH, unix.SizeofNdMsg,
		unix.AF_BRIDGE)
	for _, m := range forwarded {
		state, next := binary.NativeEndian.Uint16(m[neighbourState:]), false
		sys.EachAttribute(m[unix.SizeofNdMsg:], func(kind uint16, _, _ []byte) {
			next = next || kind == unix.NDA_DST || kind == neighbourNexthop
		})
		if m[neighbourFlags]&unix.NTF_EXT_LEARNED == 0 && (state&unix.NUD_NOARP != 0 || state&unix.NUD_PERMANENT != 0 && next) {
			m = without(m, neighbourCache)
			m[neighbourFlags] &^= unix.NTF_OFFLOADED
			list = append(list, m)
		}
	}
	names, out := rtnl.NamesOf(of.Links), [][]byte{}
	for _, m := range list {
		if !of.hasWriter(names[linkOf(m)]) {
			out = append(out, m)
		}
	}
	return out, err
}

// writtenBy is the protocol of who wrote a neighbour down.
func writtenBy(m []byte) byte {
	if b := sys.Attribute(m[unix.SizeofNdMsg:], neighbourProtocol); len(b) == 1 {
		return b[0]
	}
	return unix.RTPROT_UNSPEC
}

func (w *Writer) restoreNeighbours(ctx context.Context, was State) error {
	links, err := w.net.Links(ctx)
	if err != nil {
		return err
	}
	is := State{Links: links, Own: was.Own}
	now, err := writtenDown(ctx, is)
	if err != nil {
		return err
	}
	entries, err := listEntries(ctx, is)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range missing(was.Neighbours, now) {
		errs = append(errs, send("bring a neighbour back", unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, m,
			unix.ENODEV))
	}
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
