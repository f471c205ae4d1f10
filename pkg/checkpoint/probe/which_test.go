package probe

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// A next hop of a default route has probes of its own. The line that keeps it: next_hops.go, hops.
func TestWhichNextHopsAreProbed(t *testing.T) {
	route := func(dst, gateway string) rtnl.Route {
		r := rtnl.Route{Link: "a", Dst: netip.MustParsePrefix(dst)}
		if gateway != "" {
			r.Gateway = netip.MustParseAddr(gateway)
		}
		return r
	}
	s := neighbourhood{links: []rtnl.Link{{Name: "a", Physical: true}}, routes: []rtnl.Route{route("0.0.0.0/0", "10.0.0.1"),
		route("10.0.0.0/24", ""), route("10.1.0.0/16", "10.0.0.2"), route("10.2.0.0/16", "10.0.0.3"), route("10.3.0.0/16", "10.0.0.3")}}
	got := s.hops([]netip.Prefix{netip.MustParsePrefix("10.2.0.0/16")})
	if want := []Probe{hopProbe(s.routes[3]), hopProbe(s.routes[2])}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Peers are asked for ports on which a program still listens, each number once. The line that keeps
// it: inbound.go, stillOpen.
func TestWhichPortsPeersAreAsked(t *testing.T) {
	c := Comparison{Evidence: &Evidence{}}
	c.Inbound = map[string][]string{"tcp4:22": {"p"}, "tcp6:22": {"p"}, "tcp4:80": {"p"}, "tcp4:443": {"p"}}
	want, ports := c.stillOpen([]uint16{22, 443})
	if !slices.Equal(want, []string{"tcp4:22", "tcp4:443", "tcp6:22"}) || !slices.Equal(ports, []uint16{22, 443}) {
		t.Errorf("%q, %d", want, ports)
	}
}

// The line that keeps it: inbound.go, listens.
func TestListeningSockets(t *testing.T) {
	local := fmt.Sprintf("%08X", binary.NativeEndian.Uint32([]byte{127, 0, 0, 1}))
	for line, want := range map[string]string{
		"0: " + local + ":0016 00000000:0000 0A 0": "127.0.0.1:22", "0: " + local + ":0016 00000000:0000 01 0": "",
		"0: " + local + ":G016 00000000:0000 0A 0": "", "0: X" + local[1:] + ":0016 00000000:0000 0A 0": "", "0: 0100:0016 0 0A": "",
		"sl local_address rem_address st": "", "": "",
	} {
		if at, ok := listens(line); ok != (want != "") || ok && at.String() != want {
			t.Errorf("%q: %s, %v", line, at, ok)
		}
	}
}

// A probe that fails once begins the time anew. The line that keeps it: probe.go, awaitSteady.
func TestSteadyIsWithoutAFailureBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries, begun := 0, time.Now()
		failed := awaitSteady(t.Context(), func(context.Context) Failures {
			if tries++; tries == 3 {
				return Failures{{"tcp:x", ErrNoAnswer}}
			}
			return nil
		}, time.Hour, time.Second)
		if took := time.Since(begun); failed != nil || took != 3*probePause+time.Second {
			t.Errorf("%v after %s and %d tries", failed, took, tries)
		}
	})
}
