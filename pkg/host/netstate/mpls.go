package netstate

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// listMPLS lists the MPLS routes, without the kernel's own routes for reserved labels. A kernel
// without MPLS answers with routes of other families; these are dropped.
func listMPLS(ctx context.Context, _ State) ([][]byte, error) {
	return rawList(ctx, "MPLS routes", unix.RTM_GETROUTE, unix.SizeofRtMsg, func(m []byte) []byte {
		if m[0] != unix.AF_MPLS || m[5] == unix.RTPROT_KERNEL {
			return nil
		}
		return routeMessage(m)
	}, unix.AF_MPLS)
}

// ofMPLS returns the link of a route (of several next hops: the first link) and the route's
// protocol.
func ofMPLS(m []byte) (link int, by byte) {
	link, _ = routeLink(m)
	if several := routeAttribute(m, unix.RTA_MULTIPATH); len(several) >= unix.SizeofRtNexthop {
		link = sys.Number(several[4:])
	}
	return link, m[5]
}
