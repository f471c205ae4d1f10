package host

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/netwright/netwright/test/netns"
)

// A list is complete, or it is an error, whatever changes while it is read. The raw calls lose
// entries here.
func TestListsAreWholeWhileTheNetworkChanges(t *testing.T) {
	const addresses = 2000
	ns := netns.New(t)
	var lines strings.Builder
	for i := range addresses {
		fmt.Fprintf(&lines, "addr add 10.%d.%d.1/32 dev lo\nroute add blackhole 172.16.%d.%d/32\n", i/250, i%250, i/250, i%250)
	}
	batch := t.TempDir() + "/batch"
	noError(t, os.WriteFile(batch, []byte(lines.String()), 0o600))
	ns.Run("ip", "-batch", batch)

	stop, stopped := make(chan struct{}), make(chan struct{})
	go ns.Do(func() {
		defer close(stopped)
		h := testNetwork(t)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, byte(i / 250), byte(i % 250)}), 32)
			if h.Net.AddAddress(t.Context(), "lo", prefix) != nil || h.Net.DelAddress(t.Context(), "lo", prefix) != nil {
				return
			}
		}
	})
	ns.Do(func() {
		h := testNetwork(t)
		interrupted := 0
		for range 20 {
			addrs, err := h.Live.Net.Addresses(t.Context(), "lo")
			if errors.Is(err, netlink.ErrDumpInterrupted) {
				interrupted++
				continue
			}
			noError(t, err)
			if len(addrs) < addresses {
				t.Errorf("%d addresses, at least %d are there all the time", len(addrs), addresses)
			}
			routes, err := h.Live.Net.Routes(t.Context(), 0)
			if errors.Is(err, netlink.ErrDumpInterrupted) {
				interrupted++
				continue
			}
			noError(t, err)
			if len(routes) < addresses {
				t.Errorf("%d routes, at least %d are there all the time", len(routes), addresses)
			}
		}
		t.Logf("given up %d times", interrupted)
	})
	close(stop)
	<-stopped
}

// The benchmark measures a pass without changes on the network of a node: a link, its addresses,
// the routes, two tables, the forward chains. The thread is locked to the namespace, so each system
// call that waits takes longer than on a node.
func BenchmarkNetworkUnchanged(b *testing.B) {
	ns := netns.New(b)
	ns.Run("ip", "link", "add", "cbr0", "type", "bridge")
	ns.Do(func() {
		h := testNetwork(b)
		for _, family := range []string{"ip", "ip6"} {
			if err := h.Firewall.ReplaceTable(b.Context(), masquerading(family)); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			_, err1 := h.Live.Net.Link(b.Context(), "cbr0")
			_, err2 := h.Live.Net.Addresses(b.Context(), "cbr0")
			_, err3 := h.Live.Net.Routes(b.Context(), 0)
			_, err4 := h.Live.Firewall.Table(b.Context(), "ip", "netwright")
			_, err5 := h.Live.Firewall.Table(b.Context(), "ip6", "netwright")
			_, err6 := h.Live.Firewall.ForwardChains(b.Context())
			if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
				b.Fatal(err)
			}
		}
	})
}
