package rtnl

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/netns"
)

// On a link without address resolution no neighbour must answer, even one that was never asked
// before. The line that keeps it: neighbour_probe.go, ProbeNeighbour (unasked).
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

// An error about a neighbour that does not answer has the caller's reason once.
func TestSilentNeighbourIsSaidOnce(t *testing.T) {
	here := netns.New(t)
	for _, args := range []string{
		"link add silent0 type veth peer name silent1", "addr add 198.51.100.1/24 dev silent0",
		"link set silent0 up", "link set silent1 up",
	} {
		here.Run("ip", strings.Fields(args)...)
	}
	here.Do(func() {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("no answer"))
		defer cancel()
		const want = "neighbour 198.51.100.2 on link silent0: no answer"
		if err := openNet(t).ProbeNeighbour(ctx, "silent0", netip.MustParseAddr("198.51.100.2")); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	})
}
