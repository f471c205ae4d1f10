package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/netns"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pair returns two namespaces with a link between them: 192.0.2.1 and .2, 2001:db8::1 and ::2.
func pair(t *testing.T) (a, b *netns.NS) {
	a, b = netns.New(t), netns.New(t)
	a.Run("ip", "link", "add", "e0", "type", "veth", "peer", "name", "e0", "netns", b.Path())
	for i, n := range []*netns.NS{a, b} {
		n.Run("ip", "addr", "add", fmt.Sprintf("192.0.2.%d/24", i+1), "dev", "e0")
		n.Run("ip", "addr", "add", fmt.Sprintf("2001:db8::%d/64", i+1), "dev", "e0", "nodad")
		n.Run("ip", "link", "set", "e0", "up")
	}
	return a, b
}

func TestPing(t *testing.T) {
	a, b := pair(t)
	for _, to := range []string{"192.0.2.2", "2001:db8::2", "::ffff:192.0.2.2", "127.0.0.1"} {
		took, err := Ping(t.Context(), a.Path(), netip.MustParseAddr(to), 0)
		if err != nil || took <= 0 {
			t.Errorf("%s: Ping returns %v, %v", to, took, err)
		}
	}
	b.Do(func() {
		_, err := Ping(t.Context(), "", netip.MustParseAddr("192.0.2.1"), 0)
		if err != nil {
			t.Error(err)
		}
	})
}

func TestPingSaysWhyNot(t *testing.T) {
	a, b := pair(t)
	a.Run("ip", "route", "add", "198.51.100.0/24", "via", "192.0.2.2")
	b.Do(func() {
		ok(t, os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600))
		// An unreachable route and an ICMP error each take one token of a peer, of which there is
		// one a second. A client that sends more often gets the first few errors and then none, for
		// ever (net/ipv4/route.c, ip_error; icmp.c, icmpv4_xrlim_allow).
		ok(t, os.WriteFile("/proc/sys/net/ipv4/icmp_ratelimit", []byte("0"), 0o600))
	})
	b.Run("ip", "route", "add", "unreachable", "198.51.100.0/24")
	for to, want := range map[string]string{
		"203.0.113.9":  "network is unreachable",
		"198.51.100.9": "192.0.2.2 says: destination unreachable",
		"192.0.2.77":   "no answer",
	} {
		// The kernel still limits the number of ICMP errors. An error that is left out comes at the
		// next try.
		var err error
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err = Ping(ctx, a.Path(), netip.MustParseAddr(to), 0)
			cancel()
			if err != nil && strings.Contains(err.Error(), want) {
				break
			}
		}
		if !errors.Is(err, ErrNoAnswer) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), to) {
			t.Errorf("%s: %v, want %q", to, err, want)
		}
	}
	over := errors.New("the pass is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	if _, err := Ping(ctx, a.Path(), netip.MustParseAddr("192.0.2.2"), 0); !errors.Is(err, over) {
		t.Errorf("a context that is over: %v", err)
	}
	if _, err := Ping(t.Context(), "/run/netns/nowhere9", netip.MustParseAddr("192.0.2.2"), 0); err == nil || !strings.Contains(err.Error(), "nowhere9") {
		t.Errorf("a namespace that is not there: %v", err)
	}
}
