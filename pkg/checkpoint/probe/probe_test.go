package probe

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/netwright/netwright/test/netns"
)

// The end of the window does not interrupt a try. Otherwise a store's outage would also make slow
// probes fail. The line that keeps it: probe.go, awaitSteady (attempt with the caller's context).
func TestTheWindowCutsNoProbeShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		means := Means{
			Store: func(context.Context, string, string) error { return errors.New("gone") },
			Ping: func(ctx context.Context, _ netip.Addr) error {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(time.Second):
					return nil
				}
			},
		}
		failed := awaitSteady(t.Context(), func(ctx context.Context) Failures {
			return Prober{Means: means}.Attempt(ctx, []Probe{"ping:10.0.0.1", "store:/s c"})
		}, 3*time.Second/2, 0)
		if len(failed) != 1 || !failed.Only(Store) {
			t.Errorf("failed: %s", failed)
		}
	})
}

// A probe that could not be sent for lack of descriptors or memory does not count as one without an
// answer. A change does not begin if such a probe could not judge it. A server whose address could
// not be looked up is the same server. The lines that keep it: run_probes.go, passing (unasked) and
// lacking (dns); comparison.go, Before.
func TestWhoCannotBeAskedIsNotSilent(t *testing.T) {
	for _, c := range []struct {
		says    error
		unknown bool
	}{
		{syscall.EMFILE, true}, {syscall.ENFILE, true}, {syscall.ENOMEM, true}, {syscall.ENOBUFS, true},
		{syscall.EAGAIN, true}, {syscall.ECONNREFUSED, false}, {syscall.EHOSTUNREACH, false}, {ErrNoAnswer, false}, {errNoMeans, false},
	} {
		fails := &net.OpError{Op: "dial", Net: "udp", Err: os.NewSyscallError("socket", c.says)}
		names := net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, fails }}
		for _, silent := range []Probe{"ping:10.0.0.1", "store:s c"} {
			n := Prober{Means: Means{Ping: func(_ context.Context, to netip.Addr) error {
				if to == netip.MustParseAddr("10.0.0.2") {
					return nil
				}
				return fails
			}, Store: func(ctx context.Context, _, _ string) error {
				_, err := names.LookupHost(ctx, "store.example.test.")
				return &url.Error{Op: "Get", URL: "https://store.example.test", Err: err}
			}}}
			passed, err := n.passing(t.Context(), []Probe{silent, "ping:10.0.0.2"})
			if (err != nil) != c.unknown || !slices.Equal(passed, []Probe{"ping:10.0.0.2"}) {
				t.Errorf("%v: %q pass, %v, want %s unknown: %t", c.says, passed, err, silent, c.unknown)
			}
		}
	}
}

// If the node has no free port, a probe cannot be sent. If the node has no address to send from, it
// is cut off, and the kernel returns the same error for both. The lines that keep it:
// run_probes.go, unasked (lacksPort) and lacks (EAGAIN).
func TestAProbeWithoutAPortIsNotSilent(t *testing.T) {
	if !netns.Alone(t) {
		return
	}
	ctx := t.Context()
	netns.Shell(t, `echo 40000 40000 >/proc/sys/net/ipv4/ip_local_port_range
		ip -6 addr del ::1/128 dev lo; ip -6 route add default dev lo`)
	server, err := net.Listen("tcp", "127.0.0.1:443")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	probes := []Probe{"tcp:127.0.0.1:443", "https:127.0.0.1:443", "dns:127.0.0.1"}
	for _, network := range []string{"tcp", "udp"} {
		only, err := net.Dial(network, "127.0.0.1:443")
		if err != nil {
			t.Fatal(err)
		}
		defer only.Close()
		if network == "tcp" {
			if _, err := (Prober{}).passing(ctx, []Probe{"tcp:[2001:db8::1]:443"}); err != nil {
				t.Errorf("a node without an address is cut off: %v", err)
			}
		}
	}
	for _, p := range probes {
		if passed, err := (Prober{}).passing(ctx, []Probe{p}); err == nil || len(passed) > 0 {
			t.Errorf("without a port left %s is not asked, and %q pass", p, passed)
		}
	}
}
