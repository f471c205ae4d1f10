package rtnl

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
	now, err := back.w.net.NetState(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range missing(was.Neighbours, now.Neighbours) {
		errs = append(errs, send("bring a neighbour back", unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, m,
			unix.ENODEV))
	}
	return errors.Join(errs...)
}
