package probe

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/netwright/netwright/test/netns"
)

// If a server does not answer, the error says so, whether the dialer's socket or the context
// notices the end of the time first.
func TestNoAnswerByAnyClock(t *testing.T) {
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "nowhere", "type", "veth", "peer", "name", "nobody")
	ns.Run("ip", "addr", "add", "192.0.2.1/24", "dev", "nowhere")
	ns.Run("ip", "link", "set", "nowhere", "up")
	for range 300 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		err := Connect(ctx, ns.Path(), netip.MustParseAddrPort("192.0.2.9:80"))
		cancel()
		if !errors.Is(err, ErrNoAnswer) {
			t.Fatalf("%v, want %v", err, ErrNoAnswer)
		}
	}
}

// A query that begins at the end of the time proves nothing about the server: the result of an
// earlier query stays.
func TestNoTimeLeftIsNoAnswer(t *testing.T) {
	ctx, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	if _, err := query(ctx, "", netip.MustParseAddr("127.0.0.1"), []byte{0}); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("without time it says %v, want that there is no answer", err)
	}
}
