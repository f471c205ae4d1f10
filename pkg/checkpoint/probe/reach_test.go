package probe

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/test/netns"
)

// gateway makes a node on a link with a gateway, another neighbour, and no server beyond.
const gateway = `
ip netns add out; ip link add up0 type veth peer name up1 netns out
ip -n out addr add 10.0.0.9/24 dev up1; ip -n out addr add 10.0.0.1/24 dev up1; ip -n out link set up1 up
ip addr add 10.0.0.2/24 dev up0; ip link set up0 up; ip route add default via 10.0.0.1`

// onGateway returns a host with this link. Its files belong to the test.
func onGateway(t *testing.T) *host.Host {
	t.Helper()
	netns.Shell(t, gateway)
	h, err := host.Open(t.Context(), host.Options{Root: "/", Sandbox: true, Facts: &host.Facts{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// ARP is not enough: packets must arrive as they did before. If one neighbour no longer answers and
// another one does, that proves nothing. The line that keeps it: reach.go, mute.
func TestAPacketMustGetThrough(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h := onGateway(t)
	netns.Shell(t, "ip netns add more; ip link add more0 type veth peer name more1 netns more; ip addr add 10.1.0.2/24 dev more0; ip link set more0 up; "+
		"ip -n more addr add 10.1.0.1/24 dev more1; ip -n more link set more1 up; ip route del default")
	silent := map[string]bool{"10.1.0.77": true}
	n := Prober{h, Means{Ping: func(_ context.Context, to netip.Addr) error {
		if silent[to.String()] {
			return ErrNoAnswer
		}
		return nil
	}}}
	r, err := n.Reach(t.Context(), []Probe{"any:neighbour:up0/10.0.0.1 neighbour:up0/10.0.0.9", "ping:10.0.0.1", "ping:10.1.0.1", "ping:10.1.0.77"})
	if err != nil || !slices.Equal(r.Echo, []Probe{"ping:10.0.0.1", "ping:10.1.0.1"}) || len(r.Local) != 3 {
		t.Fatalf("Reach returns %+v, %v", r, err)
	}
	for _, c := range []struct{ who, want string }{{"10.0.0.1", ""}, {"10.1.0.1", "ping ping"}} {
		silent[c.who] = true
		if got := strings.Join(kinds(r.amiss(t.Context(), n)), " "); got != c.want {
			t.Errorf("when %s is silent, too: %q, want %q", c.who, got, c.want)
		}
	}
	netns.Shell(t, "ip -n out link set up1 down; ip -n more link set more1 down")
	if got := r.mute(t.Context(), n); len(got) > 0 {
		t.Errorf("where nobody is: %v", got)
	}
}

// A boot fails if TCP carries no byte after it, though all neighbours are there. The line that
// keeps it: reach.go, amiss (TCP).
func TestTCPMustCarryBytesAfterABoot(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h := onGateway(t)
	netns.Shell(t, "ip link set lo up")
	n := Prober{Host: h}
	r, err := n.Reach(t.Context(), nil)
	if err != nil || !r.TCP {
		t.Fatalf("Reach returns %+v, %v", r, err)
	}
	for _, c := range []struct{ sizes, want string }{
		{"4096 131072 6291456", ""}, {"1 1 1", "tcp"}, {"4096 131072 6291456", ""},
	} {
		netns.Shell(t, "echo "+c.sizes+" >/proc/sys/net/ipv4/tcp_rmem")
		if got := strings.Join(kinds(r.amiss(t.Context(), n)), " "); got != c.want {
			t.Errorf("with buffers of %s: %q, want %q", c.sizes, got, c.want)
		}
	}
}

func kinds(f Failures) (list []string) {
	for _, p := range f.probes() {
		list = append(list, p.kind())
	}
	return list
}

// The line that keeps it: reach.go, is.
func TestAServerMayGiveAnotherAddress(t *testing.T) {
	on := func(link, prefix string) rtnl.LinkAddress {
		return rtnl.LinkAddress{Link: link, Prefix: netip.MustParsePrefix(prefix)}
	}
	routes := []rtnl.Route{{Link: "br0"}}
	for _, c := range []struct {
		name    string
		was     ReachAddress
		link    string
		address string
		want    bool
	}{
		{"the same", ReachAddress{on("up0", "10.0.0.2/24"), false}, "up0", "10.0.0.2/24", true},
		{"on a link of another name", ReachAddress{on("up0", "10.0.0.2/24"), false}, "net0", "10.0.0.2/24", true},
		{"another", ReachAddress{on("up0", "10.0.0.2/24"), false}, "up0", "10.0.0.3/24", false},
		{"another, of a server", ReachAddress{on("up0", "10.0.0.2/24"), true}, "up0", "10.0.0.3/24", true},
		{"it went to the bridge", ReachAddress{on("up0", "10.0.0.2/24"), true}, "br0", "10.0.0.3/24", true},
		{"of pods", ReachAddress{on("up0", "10.0.0.2/24"), true}, "cbr0", "10.244.0.1/24", false},
		{"of the other family", ReachAddress{on("up0", "10.0.0.2/24"), true}, "up0", "2001:db8::2/64", false},
	} {
		a := rtnl.Address{Link: c.link, Prefix: netip.MustParsePrefix(c.address), Scope: "global"}
		if got := c.was.is(a, routes); got != c.want {
			t.Errorf("%s: is returns %v, want %v", c.name, got, c.want)
		}
	}
}

// A gateway may have an outage of its own if another neighbour of its family answers. A neighbour
// of only the other family does not count. The line that keeps it: reach.go, silent.
func TestAFamilyIsNotExcusedByTheOther(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h := onGateway(t)
	netns.Shell(t, "ip addr add fd00::2/64 dev up0 nodad; ip -n out addr add fd00::9/64 dev up1 nodad; while ip -6 addr show dev up0 | grep -q tentative; do sleep 0.05; done")
	n := Prober{Host: h}
	at, err := n.Reach(t.Context(), []Probe{"neighbour:up0/10.0.0.9", "neighbour:up0/fd00::9"})
	if err != nil || len(at.Hops) != 1 || len(at.Local) != 2 || len(at.Addresses) != 2 {
		t.Fatalf("Reach returns %+v, %v", at, err)
	}
	netns.Shell(t, "ip -n out addr del 10.0.0.1/24 dev up1; ip neigh flush dev up0")
	if got := at.amiss(t.Context(), n); len(got) > 0 {
		t.Errorf("a neighbour is there: %v", got)
	}
	at.Local = at.Local[1:]
	if got := at.amiss(t.Context(), n); len(got) != 1 || got[0].Probe != at.Hops[0] {
		t.Errorf("none of its family is there: %v", got)
	}
	netns.Shell(t, "ip -n out addr del fd00::9/64 dev up1; ip neigh flush dev up0; ip -n out addr add 10.0.0.1/24 dev up1")
	if got := at.amiss(t.Context(), n); len(got) > 0 {
		t.Errorf("the gateway is there: %v", got)
	}
}
