package discover

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/ledger"
)

// labGround is the ground of a node 10.77.0.11 behind the gateway 10.77.0.1, with the first of
// 4,096 ranges.
func labGround() ground {
	p, a := netip.MustParsePrefix, netip.MustParseAddr
	return ground{
		stated: []netip.Prefix{p("100.96.0.0/12"), p("fd00:10::/48")}, own: []netip.Prefix{p("100.96.0.0/24"), p("fd00:10::/64")},
		taken: []taken{
			{"the services' range", p("100.96.64.0/20")}, {"this node's own range", p("100.96.0.0/24")}, {"this node's own range", p("fd00:10::/64")},
			{"the subnet of the link host0", p("10.77.0.0/16")}, {"the subnet of the link mgmt0", p("100.97.3.0/26")},
		},
		gateways: []netip.Addr{a("10.77.0.1"), a("fd00:77::1")}, ours: []netip.Addr{a("10.77.0.11"), a("fd00:77::11")},
	}
}

// peer is a Node that was made n hours after the first one.
func peer(name string, n int, address string, ranges ...string) ledger.CachedPeer {
	p := ledger.CachedPeer{Name: name, Made: time.Date(2026, 1, 1, n, 0, 0, 0, time.UTC)}
	for a := range strings.SplitSeq(address, ",") {
		p.Addresses = append(p.Addresses, netip.MustParseAddr(a))
	}
	for _, r := range ranges {
		p.PodCIDRs = append(p.PodCIDRs, netip.MustParsePrefix(r))
	}
	return p
}

// A claim that no peer can have is refused, and a note says why.
func TestClaimsAreHeldAgainstTheDocuments(t *testing.T) {
	unstated, single := labGround(), labGround()
	unstated.stated, single.own = nil, single.own[:1]
	for _, c := range []struct {
		name  string
		g     ground
		claim ledger.CachedPeer
		want  string // of the note; "": the claim is accepted
	}{
		{"a peer", labGround(), peer("n2", 1, "10.77.0.12", "100.96.2.0/24"), ""},
		{"a peer of both families", labGround(), peer("n2", 1, "10.77.0.12,fd00:77::12", "100.96.2.0/24", "fd00:10:0:2::/64"), ""},
		{"half of the internet", labGround(), peer("evil", 1, "10.77.0.66", "128.0.0.0/1"), "it is no /24, as this node's own"},
		{"a longer prefix of another's pods", labGround(), peer("evil", 1, "10.77.0.66", "100.96.2.0/25"), "it is no /24"},
		{"the metadata of the instance", labGround(), peer("evil", 1, "10.77.0.66", "169.254.169.254/32"), "it is no /24"},
		{"another network", labGround(), peer("evil", 1, "10.77.0.66", "198.51.100.0/24"), "it does not lie in spec.podCIDR, 100.96.0.0/12"},
		{"the services", labGround(), peer("evil", 1, "10.77.0.66", "100.96.65.0/24"), "it overlaps the services' range"},
		{"this node's pods", labGround(), peer("evil", 1, "10.77.0.66", "100.96.0.0/24"), "it overlaps this node's own range"},
		{"a subnet of this node's", labGround(), peer("evil", 1, "10.77.0.66", "100.97.3.0/24"), "the subnet of the link mgmt0"},
		{"by the gateway", labGround(), peer("evil", 1, "10.77.0.1", "100.96.2.0/24"), "10.77.0.1 is a gateway of this node"},
		{"by this node itself", labGround(), peer("evil", 1, "10.77.0.11", "100.96.2.0/24"), "10.77.0.11 is this node's own"},
		{"by all of a subnet", labGround(), peer("evil", 1, "10.77.255.255", "100.96.2.0/24"), "10.77.255.255 is the broadcast address of the subnet of the link host0, 10.77.0.0/16"},
		{"by the last address of a subnet of IPv6", labGround(), peer("n2", 1, "fd00:77::ffff:ffff:ffff:ffff", "fd00:10:0:2::/64"), ""},
		{"by no address of the family", labGround(), peer("evil", 1, "fd00:77::66", "100.96.2.0/24"), "no InternalIP of that family"},
		{"of a default of ours", unstated, peer("n2", 1, "10.77.0.12", "100.96.2.0/24"), "no document states a range"},
		{"of another family", single, peer("n2", 1, "10.77.0.12,fd00:77::12", "fd00:10:0:2::/64"), "have no addresses of that family"},
	} {
		believed, notes := c.g.believe([]ledger.CachedPeer{c.claim}, ledger.APICache{Judged: true})
		if said := fmt.Sprint(notes); !strings.Contains(said, c.want) || (c.want == "") != (len(notes) == 0) || (c.want == "") != (len(believed) == 1) {
			t.Errorf("%s: believed %v, %s", c.name, believed, said)
		}
	}
}

// Two Nodes claim one thing. The claim in force stays. Otherwise the older Node has it. If that
// Node is removed, the other claim is accepted.
func TestOfTwoClaimsTheOneInForceStays(t *testing.T) {
	g := labGround()
	names := func(believed []ledger.CachedPeer) (out []string) {
		for _, p := range believed {
			out = append(out, p.Name)
		}
		return out
	}
	younger, older := peer("n2", 5, "10.77.0.12", "100.96.2.0/24"), peer("n3", 1, "10.77.0.13", "100.96.2.0/24")
	neighbour := peer("n4", 0, "10.77.0.12", "100.96.4.0/24") // it has the address of n2
	for _, c := range []struct {
		name    string
		claimed []ledger.CachedPeer
		before  []ledger.CachedPeer
		want    string
	}{
		{"the older Node", []ledger.CachedPeer{younger, older}, nil, "[n3]"},
		{"that in force", []ledger.CachedPeer{younger, older, neighbour}, []ledger.CachedPeer{younger}, "[n2]"},
		{"it goes", []ledger.CachedPeer{older, neighbour}, []ledger.CachedPeer{younger}, "[n3 n4]"},
		{"it claims another range", []ledger.CachedPeer{peer("n2", 5, "10.77.0.12", "100.96.5.0/24"), older}, []ledger.CachedPeer{younger}, "[n2 n3]"},
		{"one address", []ledger.CachedPeer{younger, neighbour}, nil, "[n4]"},
	} {
		believed, notes := g.believe(c.claimed, ledger.APICache{Judged: true, Peers: c.before})
		if got := fmt.Sprint(names(believed)); got != c.want || len(notes) != len(c.claimed)-len(believed) {
			t.Errorf("%s: %s, want %s; %v", c.name, got, c.want, notes)
		}
	}
}

// An agent that did not judge claims accepted a route. The route stays, and each pass reports it,
// until the documents allow it, or until its Node claims another range or is gone.
func TestRoutesThatStandAreNotRemoved(t *testing.T) {
	covered := labGround()
	g := covered
	g.stated = nil
	old := peer("n2", 1, "10.77.0.12", "100.96.2.0/24")
	learnt := ledger.APICache{Peers: []ledger.CachedPeer{old}}
	for range 2 { // the second is a pass of this agent
		believed, notes := g.believe([]ledger.CachedPeer{old}, learnt)
		if len(believed) != 1 || len(notes) != 1 || !strings.HasPrefix(notes[0].Text, "peer not covered by podCIDR: ") {
			t.Fatalf("believe returns %v, %v", believed, notes)
		}
		learnt = ledger.APICache{Judged: true, Peers: believed}
	}
	if believed, notes := covered.believe([]ledger.CachedPeer{old}, learnt); len(believed) != 1 || len(believed[0].Stands) > 0 || len(notes) > 0 {
		t.Errorf("covered: %v, %v", believed, notes)
	}
	if believed, notes := g.believe([]ledger.CachedPeer{peer("n2", 1, "10.77.0.12", "100.96.9.0/24")}, learnt); len(believed) > 0 || len(notes) != 1 {
		t.Errorf("another range: %v, %v", believed, notes)
	}
	twice := []ledger.CachedPeer{old, peer("n3", 1, "10.77.0.13", "100.96.2.0/24")} // one destination has one route
	if believed, _ := g.believe(twice, ledger.APICache{Peers: twice}); len(believed) != 1 {
		t.Errorf("one range twice: %v", believed)
	}
}

// The test makes thousands of lists, and half of their Nodes are hostile. No claim outside of the
// stated range or over another Node's is accepted. No peer is lost that was there before or came
// first. A pass reports only a few lines.
func TestHostileListsOfNodes(t *testing.T) {
	g := labGround()
	for seed := range uint64(10_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var honest, all []ledger.CachedPeer
		for i := range 1 + r.IntN(20) {
			honest = append(honest, peer(fmt.Sprintf("n%d", i), 0, fmt.Sprintf("10.77.1.%d,fd00:77::1:%x", i+1, i+1),
				fmt.Sprintf("100.98.%d.0/24", i), fmt.Sprintf("fd00:10:0:%x::/64", i+1)))
		}
		before := ledger.APICache{Judged: true, Peers: honest[:r.IntN(len(honest)+1)]}
		for i := range len(honest) {
			all = append(all, honest[i], hostile(r, i))
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		believed, notes := g.believe(all, before)
		if len(notes) > 11 {
			t.Fatalf("seed %d: %d notes", seed, len(notes))
		}
		of := map[string]ledger.CachedPeer{}
		var ranges []netip.Prefix
		for _, p := range believed {
			of[p.Name] = p
			for _, c := range p.PodCIDRs {
				if !slices.ContainsFunc(g.stated, func(s netip.Prefix) bool { return s.Contains(c.Addr()) && s.Bits() <= c.Bits() }) {
					t.Fatalf("seed %d: %s of %s lies outside of the stated range", seed, c, p.Name)
				}
				if slices.ContainsFunc(ranges, c.Overlaps) || slices.ContainsFunc(g.taken, func(t taken) bool { return t.prefix.Overlaps(c) }) {
					t.Fatalf("seed %d: %s of %s is another's", seed, c, p.Name)
				}
				ranges = append(ranges, c)
			}
		}
		for _, p := range honest {
			if !slices.Equal(of[p.Name].PodCIDRs, p.PodCIDRs) {
				t.Fatalf("seed %d: of %v is believed %v", seed, p, of[p.Name])
			}
		}
	}
}

// hostile returns a Node with any claim, made after the Nodes of the cluster.
func hostile(r *rand.Rand, i int) ledger.CachedPeer {
	p := ledger.CachedPeer{Name: fmt.Sprintf("evil%d", i), Made: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)}
	for range 1 + r.IntN(2) {
		p.Addresses = append(p.Addresses, netip.MustParseAddr([]string{
			"10.77.0.1", "10.77.0.11", "fd00:77::1", "8.8.8.8", fmt.Sprintf("10.77.1.%d", r.IntN(256)), fmt.Sprintf("fd00:77::1:%x", r.IntN(64)),
		}[r.IntN(6)]))
	}
	for range 1 + r.IntN(3) {
		var base netip.Addr
		bits := 32
		switch r.IntN(4) {
		case 0:
			base = netip.AddrFrom4([4]byte{byte(r.IntN(256)), byte(r.IntN(256)), byte(r.IntN(256)), byte(r.IntN(256))})
		case 1:
			base = netip.AddrFrom4([4]byte{100, 98, byte(r.IntN(24)), byte(r.IntN(256))}) // near the honest ones
		case 2:
			base = netip.MustParseAddr([]string{"100.96.65.1", "100.96.0.1", "100.97.3.1", "169.254.169.254", "10.77.0.1"}[r.IntN(5)])
		case 3:
			base, bits = netip.MustParseAddr(fmt.Sprintf("fd00:10:0:%x::", r.IntN(64))), 128
		}
		length := []int{r.IntN(bits + 1), 24, bits / 2, bits}[r.IntN(4)]
		p.PodCIDRs = append(p.PodCIDRs, netip.PrefixFrom(base, length).Masked())
	}
	return p
}
