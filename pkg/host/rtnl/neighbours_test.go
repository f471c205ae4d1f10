package rtnl

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/netns"
)

// Neighbours are machines that answered. Permanent entries and entries learned elsewhere do not
// count, nor a machine that was asked and is not there. The line that keeps it: neighbours.go,
// answered.
func TestNeighboursAreThoseWhoAnswered(t *testing.T) {
	here, there := netns.New(t), netns.New(t)
	here.Run("ip", "link", "add", "up0", "type", "veth", "peer", "name", "gw", "netns", there.Path())
	for i, ns := range []*netns.NS{there, here} {
		link, host := []string{"gw", "up0"}[i], []string{"1", "2"}[i]
		// An address that is still being checked asks no neighbour.
		ns.Run("sysctl", "-qw", "net.ipv6.conf."+link+".accept_dad=0")
		for _, args := range []string{
			"addr add 192.0.2." + host + "/24 dev " + link,
			"addr add 2001:db8::" + host + "/64 dev " + link + " nodad", "link set " + link + " up",
		} {
			ns.Run("ip", strings.Fields(args)...)
		}
	}
	for _, args := range []string{
		"neigh add 192.0.2.7 lladdr 02:00:00:00:00:07 dev up0 nud permanent",
		"neigh add 192.0.2.8 lladdr 02:00:00:00:00:08 dev up0 nud reachable extern_learn",
		"neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 dev up0 nud stale",
	} {
		here.Run("ip", strings.Fields(args)...)
	}
	ask := func(link, addr string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // longer than the kernel asks
		defer cancel()
		return openNet(t).ProbeNeighbour(ctx, link, netip.MustParseAddr(addr))
	}
	here.Do(func() {
		ok(t, ask("up0", "192.0.2.1"))
		ok(t, ask("up0", "2001:db8::1"))
		if ask("up0", "192.0.2.66") == nil {
			t.Error("somebody answers for who is not there")
		}
		got, err := openNet(t).Neighbours(t.Context())
		ok(t, err)
		got = slices.DeleteFunc(got, func(n Neighbour) bool { return n.Addr.IsLinkLocalUnicast() })
		want := []Neighbour{
			{"up0", netip.MustParseAddr("192.0.2.1"), true}, {"up0", netip.MustParseAddr("192.0.2.9"), false},
			{"up0", netip.MustParseAddr("2001:db8::1"), true},
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// Where the kernel waits for hours before it asks a neighbour again, a forgotten neighbour is asked
// anew at once. Permanent entries and entries learned elsewhere stay. The line that keeps it:
// neighbours.go, ForgetNeighbours.
func TestForgetNeighboursWhoWereAskedSlowly(t *testing.T) {
	here, there := netns.New(t), netns.New(t)
	here.Run("ip", "link", "add", "up0", "type", "veth", "peer", "name", "gw", "netns", there.Path())
	there.Run("ip", "link", "set", "gw", "up")
	for _, args := range []string{
		"ip addr add 192.0.2.2/24 dev up0", "ip addr add 2001:db8::2/64 dev up0 nodad", "ip link set up0 up",
		"ip neigh add 192.0.2.7 lladdr 02:00:00:00:00:07 dev up0 nud permanent", "ip neigh add 192.0.2.8 lladdr 02:00:00:00:00:08 dev up0 nud reachable extern_learn",
		"sysctl -qw net.ipv4.neigh.up0.retrans_time_ms=10000000 net.ipv6.neigh.up0.retrans_time_ms=10000000",
		"ip neigh add 192.0.2.1 dev up0 nud incomplete use", "ip neigh add 2001:db8::1 dev up0 nud incomplete use",
		"sysctl -qw net.ipv4.neigh.up0.retrans_time_ms=1000 net.ipv6.neigh.up0.retrans_time_ms=1000",
	} {
		list := strings.Fields(args)
		here.Run(list[0], list[1:]...)
	}
	there.Run("ip", "addr", "add", "192.0.2.1/24", "dev", "gw")
	there.Run("ip", "addr", "add", "2001:db8::1/64", "dev", "gw", "nodad")
	ask := func(addr string, within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		return openNet(t).ProbeNeighbour(ctx, "up0", netip.MustParseAddr(addr))
	}
	here.Do(func() {
		for _, addr := range []string{"192.0.2.1", "2001:db8::1"} {
			if ask(addr, 2*time.Second) == nil {
				t.Errorf("%s answers: the kernel does not wait, and this is no test", addr)
			}
		}
		ok(t, openNet(t).ForgetNeighbours(t.Context()))
		for _, addr := range []string{"192.0.2.1", "2001:db8::1"} {
			if err := ask(addr, 30*time.Second); err != nil {
				t.Errorf("%v\n%s", err, here.Run("ip", "-statistics", "neigh"))
			}
		}
	})
	for _, stays := range []string{"192.0.2.7", "192.0.2.8"} {
		if !strings.Contains(here.Run("ip", "neigh"), stays) {
			t.Errorf("%s is gone", stays)
		}
	}
}
