package probe

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/verify/probe"
	"github.com/netwright/netwright/test/netns"
)

// On the node's own links, in each family with an address there, the probes ask a few of the
// neighbours that answered before. The lines that keep it: neighbours.go, groups, on and own.
func TestWhoIsAskedAround(t *testing.T) {
	address := func(link, prefix string) rtnl.Address {
		a := rtnl.Address{Link: link, Prefix: netip.MustParsePrefix(prefix), Scope: "global"}
		if a.Prefix.Addr().IsLinkLocalUnicast() {
			a.Scope = "link"
		}
		return a
	}
	route := func(dst, gateway, link string) rtnl.Route {
		r := rtnl.Route{Dst: netip.MustParsePrefix(dst), Link: link}
		if gateway != "" {
			r.Gateway = netip.MustParseAddr(gateway)
		}
		return r
	}
	near := func(link string, fresh bool, addrs ...string) (out []rtnl.Neighbour) {
		for _, a := range addrs {
			out = append(out, rtnl.Neighbour{Link: link, Addr: netip.MustParseAddr(a), Fresh: fresh})
		}
		return out
	}
	device := rtnl.Link{Name: "eth0", Physical: true}
	for name, c := range map[string]struct {
		around neighbourhood
		want   []string
	}{
		"both families, without a default route": {neighbourhood{
			links: []rtnl.Link{{Name: "lo", Loopback: true}, device},
			addresses: []rtnl.Address{
				address("lo", "192.0.2.200/32"), address("eth0", "10.0.0.2/24"), address("eth0", "fd00::2/64"),
			},
			neighbours: slices.Concat(near("eth0", true, "10.0.0.7"), near("eth0", false, "fd00::7", "fe80::7")),
		}, []string{"neighbour:eth0/10.0.0.7", "neighbour:eth0/fd00::7 neighbour:eth0/fe80::7"}},
		"a family with an address of the link alone": {neighbourhood{
			links: []rtnl.Link{device}, addresses: []rtnl.Address{address("eth0", "fe80::2/64")},
			neighbours: near("eth0", true, "fe80::7"),
		}, nil},
		"nobody there": {neighbourhood{
			links: []rtnl.Link{device}, addresses: []rtnl.Address{address("eth0", "10.0.0.2/24")},
		}, nil},
		"pods come and go": {neighbourhood{
			links:      []rtnl.Link{{Name: "cbr0", Kind: "bridge"}, {Name: "veth1", Kind: "veth", Master: "cbr0"}},
			addresses:  []rtnl.Address{address("cbr0", "10.244.1.1/24")},
			routes:     []rtnl.Route{route("10.244.2.0/24", "10.244.1.9", "cbr0")},
			neighbours: near("cbr0", true, "10.244.1.5", "10.244.1.9"),
		}, nil},
		"a bridge over a bond over devices": {neighbourhood{
			links:      []rtnl.Link{{Name: "br0", Kind: "bridge"}, {Name: "bond0", Kind: "bond", Master: "br0"}},
			addresses:  []rtnl.Address{address("br0", "10.0.0.2/24")},
			neighbours: near("br0", true, "10.0.0.7"),
		}, []string{"neighbour:br0/10.0.0.7"}},
		"what a default route leads through": {neighbourhood{
			links:      []rtnl.Link{{Name: "host0", Kind: "veth"}, {Name: "cali1", Kind: "veth"}},
			addresses:  []rtnl.Address{address("host0", "10.0.0.2/24"), address("cali1", "10.0.1.2/24")},
			routes:     []rtnl.Route{route("0.0.0.0/0", "10.0.0.1", "host0"), route("10.0.1.0/24", "", "cali1")},
			neighbours: append(near("host0", false, "10.0.0.1"), near("cali1", true, "10.0.1.7")...),
		}, []string{"neighbour:host0/10.0.0.1"}},
		"point to point nobody is resolved": {neighbourhood{
			links:     []rtnl.Link{{Name: "ppp0", PtP: true}},
			addresses: []rtnl.Address{address("ppp0", "10.0.0.2/32")},
			routes:    []rtnl.Route{route("0.0.0.0/0", "10.0.0.1", "ppp0")},
		}, nil},
		"the best four": {neighbourhood{
			links:     []rtnl.Link{device},
			addresses: []rtnl.Address{address("eth0", "10.0.0.2/24")},
			routes: []rtnl.Route{
				route("10.1.0.0/16", "10.0.0.30", "eth0"), route("10.2.0.0/16", "10.0.0.9", "eth0"),
				route("10.3.0.0/16", "10.0.0.8", "eth0"),
			},
			neighbours: slices.Concat(
				near("eth0", false, "10.0.0.5", "10.0.0.6", "10.0.0.30"), near("eth0", true, "10.0.0.9", "10.0.0.20"),
			),
		}, []string{"neighbour:eth0/10.0.0.9 neighbour:eth0/10.0.0.20 neighbour:eth0/10.0.0.30 neighbour:eth0/10.0.0.5"}},
		"an address of the link alone comes last": {neighbourhood{
			links: []rtnl.Link{device}, addresses: []rtnl.Address{address("eth0", "192.168.0.2/24")},
			neighbours: near("eth0", true, "169.254.0.1", "192.168.0.7"),
		}, []string{"neighbour:eth0/192.168.0.7 neighbour:eth0/169.254.0.1"}},
		"a next hop that nobody has used yet": {neighbourhood{
			links:     []rtnl.Link{device},
			addresses: []rtnl.Address{address("eth0", "10.0.0.2/24")},
			routes:    []rtnl.Route{route("10.1.0.0/16", "10.0.0.9", "eth0")},
		}, []string{"neighbour:eth0/10.0.0.9"}},
	} {
		var got []string
		for i, group := range c.around.groups() {
			text := strings.TrimPrefix(string(oneOf(group)), anyProbe+":")
			if i%2 == 0 {
				got = append(got, text)
			} else if want := strings.ReplaceAll(got[len(got)-1], neighbourProbe, fullProbe); text != want {
				t.Errorf("%s: of full size are asked %s, want %s", name, text, want)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// These are the addresses by which others know the node. The line that keeps it: neighbours.go,
// ownAddresses.
func TestAddressesThatOthersKnow(t *testing.T) {
	on := func(link, prefix, scope string, dynamic bool) rtnl.Address {
		return rtnl.Address{Link: link, Prefix: netip.MustParsePrefix(prefix), Scope: scope, Dynamic: dynamic}
	}
	s := neighbourhood{
		addresses: []rtnl.Address{
			on("lo", "127.0.0.1/8", "host", false), on("up0", "10.0.0.2/24", "global", false), on("up0", "10.0.0.100/32", "global", false),
			on("up0", "10.0.1.2/24", "global", true), on("up0", "fe80::2/64", "link", false), on("up0", "2001:db8::2/128", "global", false),
			on("cbr0", "10.244.1.1/24", "global", false),
		},
		routes: []rtnl.Route{{Dst: netip.MustParsePrefix("0.0.0.0/0"), Link: "up0"}, {Dst: netip.MustParsePrefix("10.244.1.0/24"), Link: "cbr0"}},
	}
	want := []Probe{"address:10.0.0.2", "address:2001:db8::2"}
	if got := s.ownAddresses(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// echoes has the means of the tests below.
var echoes = Means{
	Ping: func(ctx context.Context, to netip.Addr) error {
		_, err := probe.Ping(ctx, "", to, 0)
		return err
	},
	Full: func(ctx context.Context, to netip.Addr, size int) error {
		_, err := probe.Ping(ctx, "", to, size)
		return err
	},
}

// If a link has IPv6 without a default route, one of its neighbours must go on answering. The
// gateway must also answer echoes of full size. Neighbours are asked while the probes wait for a
// slow gateway. The lines that keep it: comparison.go, Before (beside) and addNeighbours;
// run_probes.go, askFull and tryAny; default_probes.go, candidates (fullProbe and routeProbe).
func TestAFamilyOfALinkIsNotLost(t *testing.T) {
	if !netns.Alone(t, "/etc", "/var/lib") {
		return
	}
	there := netns.New(t)
	netns.Shell(t, `ip link add up0 type veth peer name gw netns `+there.Path()+`
sysctl -qw net.ipv6.conf.up0.accept_dad=0 # nobody is asked from an address that may not be used yet
ip addr add 192.0.2.2/24 dev up0; ip addr add 2001:db8::2/64 dev up0 nodad
ip link set up0 up; ip route add default via 192.0.2.1`)
	for _, args := range []string{
		"addr add 192.0.2.1/24 dev gw", "addr add 2001:db8::1/64 dev gw nodad", "addr add 2001:db8::3/64 dev gw nodad",
		"addr add 2001:db8::4/64 dev gw nodad", "link set gw up",
	} {
		there.Run("ip", strings.Fields(args)...)
	}
	h, err := host.Open(t.Context(), host.Options{Root: "/", Sandbox: true, Facts: &host.Facts{Init: "systemd"}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, known := range []string{"2001:db8::1", "2001:db8::3", "2001:db8::4"} {
		if err := echoes.Ping(t.Context(), netip.MustParseAddr(known)); err != nil {
			t.Fatal(err)
		}
	}
	there.Run("ip", "addr", "del", "2001:db8::4/64", "dev", "gw") // a neighbour that left before is not missed
	asked := make(chan struct{})
	once := sync.OnceFunc(func() { close(asked) })
	means := Means{
		Full: func(ctx context.Context, to netip.Addr, size int) error {
			if to == netip.MustParseAddr("2001:db8::3") {
				once()
			}
			return echoes.Full(ctx, to, size)
		},
		Ping: func(ctx context.Context, to netip.Addr) error { // until then the gateway does not answer
			select {
			case <-asked:
				return echoes.Ping(ctx, to)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
	}
	j := &Comparison{Node: Prober{h, means}, Window: time.Second, Evidence: &Evidence{}}
	if err := j.Before(t.Context(), nil, ""); err != nil {
		t.Fatal(err)
	}
	want := []Probe{
		"route:0.0.0.0/0", "neighbour:up0/192.0.2.1", "ping:192.0.2.1", "full:up0/192.0.2.1",
		"address:192.0.2.2", "address:2001:db8::2",
		"any:neighbour:up0/2001:db8::1 neighbour:up0/2001:db8::3", "any:full:up0/2001:db8::1 full:up0/2001:db8::3",
	}
	if !slices.Equal(j.Probes, want) {
		t.Fatalf("%q, want %q", j.Probes, want)
	}
	after := func(what string, lost ...Probe) {
		t.Helper()
		if failed := j.Attempt(t.Context()); !slices.Equal(failed.probes(), lost) {
			t.Errorf("%s: %s; want %q", what, failed, lost)
		}
	}
	after("nothing happened")
	there.Run("ip", "addr", "del", "2001:db8::1/64", "dev", "gw")
	after("one of the neighbours went")
	netns.Shell(t, "ip link set up0 mtu 9000") // only the node's own
	after("packets are larger than the network carries", want[3], want[7])
	netns.Shell(t, "ip link set up0 mtu 1500")
	after("they are not any more")
	netns.Shell(t, "ip -6 addr del 2001:db8::2/64 dev up0")
	after("the address went", want[5], want[7])
	netns.Shell(t, "ip addr add 2001:db8::2/64 dev up0 nodad")
	after("the address is there")
	netns.Shell(t, "echo 1 >/proc/sys/net/ipv6/conf/up0/disable_ipv6")
	after("the family went", want[5], want[6], want[7])
	netns.Shell(t, "ip route del default")
	after("the default route went", want[0], want[5], want[6], want[7])
}
