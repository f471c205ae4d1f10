package rtnl

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/netns"
)

// On a link that resolves nobody nobody has to answer, also who was never asked before.
// The line that keeps it: neighbour_probe.go, ProbeNeighbour (unasked).
func TestNobodyIsAskedWhereNobodyIsResolved(t *testing.T) {
	here := netns.New(t)
	for _, args := range []string{
		"link add quiet0 type veth peer name quiet1", "addr add 198.51.100.1/24 dev quiet0",
		"link set quiet0 up arp off", "link set quiet1 up",
	} {
		here.Run("ip", strings.Fields(args)...)
	}
	here.Do(func() {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // longer than the kernel asks
		defer cancel()
		ok(t, openNet(t).ProbeNeighbour(ctx, "quiet0", netip.MustParseAddr("198.51.100.2")))
	})
}
