package netstate

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// listMPLS lists the routes of MPLS, but for the kernel's own of reserved labels. A kernel without
// MPLS answers with routes of other families.
func listMPLS(ctx context.Context, _ State) ([][]byte, error) {
	return rawList(ctx, "MPLS routes", unix.RTM_GETROUTE, unix.SizeofRtMsg, func(m []byte) []byte {
		if m[0] != unix.AF_MPLS || m[5] == unix.RTPROT_KERNEL {
			return nil
		}
		return routeMessage(m)
	}, unix.AF_MPLS)
}

// ofMPLS is the link that a route leads over, of several the first, and who made it.
func ofMPLS(m []byte) (link int, by byte) {
	link, _ = routeLink(m)
	if several := routeAttribute(m, unix.RTA_MULTIPATH); len(several) >= unix.SizeofRtNexthop {
		link = sys.Number(several[4:])
	}
	return link, m[5]
}
