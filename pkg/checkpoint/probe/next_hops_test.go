package probe

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/test/netns"
)

// The table has the next hops that must resolve after a change. The lines that keep it:
// next_hops.go, redirected, isNew, leads and ofAChange.
func TestWhereAChangeTurnsPackets(t *testing.T) {
	const ours, static, bird = rtnl.RouteProtocol, 4, 12
	route := func(dst, gateway string, protocol, metric int) rtnl.Route {
		r := rtnl.Route{Type: "unicast", Dst: netip.MustParsePrefix(dst), Link: "up0", Protocol: protocol, Metric: metric}
		if gateway != "" {
			r.Gateway = netip.MustParseAddr(gateway)
		}
		return r
	}
	before := ledBefore{
		routes: []rtnl.Route{
			route("0.0.0.0/0", "10.0.0.1", static, 0), route("::/0", "fd00::1", static, 1024), route("10.0.0.0/24", "", 2, 0),
			route("10.244.2.0/24", "10.0.0.2", ours, 0), route("10.244.3.0/24", "10.0.0.3", ours, 0),
			route("10.9.0.0/16", "10.0.0.3", static, 20), route("10.9.0.0/16", "10.0.0.2", static, 10),
			route("fd00:2::/64", "fd00::2", ours, 1024),
		},
		answered: []Probe{"neighbour:up0/10.0.0.1", "neighbour:up0/10.0.0.2", "neighbour:up0/fd00::2"}, // not 10.0.0.3
		pods:     []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
	}
	for name, c := range map[string]struct {
		now  rtnl.Route
		want Probe // "": no probe
	}{
		"a known node's, by the same":           {route("10.244.2.0/24", "10.0.0.2", ours, 0), ""},
		"a known node's, by another":            {route("10.244.2.0/24", "10.0.0.9", ours, 0), "next-hop:up0/10.0.0.9"},
		"of IPv6":                               {route("fd00:2::/64", "fd00::9", ours, 1024), "next-hop:up0/fd00::9"},
		"a longer prefix of it":                 {route("10.244.2.128/25", "10.0.0.9", static, 0), "next-hop:up0/10.0.0.9"},
		"of one that did not answer":            {route("10.244.3.0/24", "10.0.0.9", ours, 0), ""},
		"a new node's":                          {route("10.244.4.0/24", "10.0.0.9", ours, 0), ""},
		"a new node's, of no stated range":      {route("10.50.0.0/24", "10.0.0.9", ours, 0), ""},
		"a new node's, by a network's program":  {route("10.244.4.0/24", "10.0.0.9", static, 0), ""},
		"what only a default route covered":     {route("10.50.0.0/16", "10.0.0.9", static, 0), "next-hop:up0/10.0.0.9"},
		"a shorter prefix than a known one":     {route("10.8.0.0/15", "10.0.0.9", static, 0), "next-hop:up0/10.0.0.9"},
		"in the network of the link":            {route("10.0.0.64/26", "10.0.0.9", static, 0), ""},
		"one that nobody goes by":               {route("10.244.2.0/24", "10.0.0.9", ours, 7), ""},
		"by the lower metric, whose hop stays":  {route("10.9.0.0/16", "10.0.0.2", static, 5), ""},
		"a lower metric, whose hop is another":  {route("10.9.0.0/16", "10.0.0.9", static, 5), "next-hop:up0/10.0.0.9"},
		"a routing daemon's":                    {route("10.244.2.0/24", "10.0.0.9", bird, 0), ""},
		"a default route, which is judged else": {route("0.0.0.0/0", "10.0.0.9", static, 0), ""},
		"without a next hop":                    {route("10.244.2.0/24", "", ours, 0), ""},
	} {
		got := before.redirected(append(slices.Clone(before.routes), c.now, c.now))
		if want := slices.DeleteFunc([]Probe{c.want}, func(p Probe) bool { return p == "" }); !slices.Equal(got, want) {
			t.Errorf("%s: %q must resolve, want %q", name, got, want)
		}
	}
	var none ledBefore // for the undo of another process' change
	if got := none.redirected(before.routes); len(got) > 0 {
		t.Errorf("without a state before, %q must resolve", got)
	}
}

// A change gives a known node's packets another next hop. The new one must resolve, if the former
// one answered. The lines that keep it: comparison.go, Attempt, Before and addNeighbours;
// next_hops.go, hops.
func TestTheNextHopOfAKnownNodeResolves(t *testing.T) {
	if !netns.Alone(t, "/etc", "/var/lib") {
		return
	}
	there := netns.New(t)
	netns.Shell(t, `ip link add up0 type veth peer name gw netns `+there.Path()+`
ip addr add 192.0.2.2/24 dev up0; ip link set up0 up; ip route add default via 192.0.2.1
ip route add 10.244.2.0/24 via 192.0.2.12; ip route add 10.244.3.0/24 via 192.0.2.13`)
	for _, args := range []string{"addr add 192.0.2.1/24 dev gw", "addr add 192.0.2.12/24 dev gw", "addr add 192.0.2.14/24 dev gw", "link set gw up"} {
		there.Run("ip", strings.Fields(args)...)
	}
	h, err := host.Open(t.Context(), host.Options{Root: "/", Sandbox: true, Facts: &host.Facts{Init: "systemd"}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	j := &Comparison{Node: Prober{h, echoes}, Window: time.Second, Evidence: &Evidence{}}
	if err := j.Before(t.Context(), nil, ""); err != nil {
		t.Fatal(err)
	}
	after := func(what string, lost ...Probe) {
		t.Helper()
		if failed := j.Attempt(t.Context()); !slices.Equal(failed.probes(), lost) {
			t.Errorf("%s: %s; want %q", what, failed, lost)
		}
	}
	after("nothing happened")
	netns.Shell(t, "ip route replace 10.244.3.0/24 via 192.0.2.99")
	after("another for one that did not answer")
	netns.Shell(t, "ip route replace 10.244.2.0/24 via 192.0.2.14")
	after("another that answers")
	netns.Shell(t, "ip route replace 10.244.2.0/24 via 192.0.2.99")
	after("another that nobody is", "next-hop:up0/192.0.2.99")
	netns.Shell(t, "ip route replace 10.244.2.0/24 via 192.0.2.12")
	there.Run("ip", "addr", "del", "192.0.2.12/24", "dev", "gw")
	after("the one of before went")
	j.Stated, j.Probes = true, nil
	netns.Shell(t, "ip route replace 10.244.2.0/24 via 192.0.2.98")
	after("the probes are the user's own")
}
