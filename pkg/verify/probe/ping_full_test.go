package probe

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// A packet of full size returns whole or not at all, and is never fragmented. The lines that keep
// it: ping_full.go, inOnePiece; ping.go, Ping (data).
func TestPingOfFullSize(t *testing.T) {
	a, b := pair(t)
	ask := func(to string, size int, patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := Ping(ctx, a.Path(), netip.MustParseAddr(to), size)
		return err
	}
	both := func(size int, want string) {
		t.Helper()
		patience := time.Minute // only so that a test that hangs ends
		if want != "" {
			patience = time.Second
		}
		for _, to := range []string{"192.0.2.2", "2001:db8::2"} {
			err := ask(to, size, patience)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%d bytes to %s: %v, want %q", size, to, err, want)
			}
		}
	}
	both(1500, "")
	both(1501, "message too long")
	both(0, "")
	a.Run("ip", "link", "set", "e0", "mtu", "9000") // b accepts no more than its own MTU
	both(9000, "no answer")
	b.Run("ip", "link", "set", "e0", "mtu", "9000")
	both(9000, "")
	b.Run("nft", "add table inet t; add chain inet t in { type filter hook input priority 0; }; "+
		"add rule inet t in meta length > 1400 drop")
	both(1401, "no answer")
	both(1400, "")
}
