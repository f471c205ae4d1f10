package probe

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Neighbours come and go. So none of them alone must go on answering, but of those that did on a
// link in a family, one: without any the link carries that family no more, also where no default
// route leads through it.

// mostAsked is how many neighbours are asked on a link in a family.
const mostAsked = 4

// neighbourhood are what is known of the links and of who is on them.
type neighbourhood struct {
	links      []rtnl.Link
	addresses  []rtnl.Address
	routes     []rtnl.Route // of the main table, each next hop of a default route apart
	neighbours []rtnl.Neighbour
}

// lookAtNeighbours reads the neighbourhood.
func lookAtNeighbours(ctx context.Context, h *host.Host) (s neighbourhood, err error) {
	o, err := h.Live.Net.Overview(ctx)
	if err != nil {
		return s, err
	}
	s.links, s.addresses, s.routes = o.Links, o.Addresses, append(o.Routes, o.Defaults...)
	s.neighbours, err = h.Live.Net.Neighbours(ctx)
	return s, err
}

// groups are, for each link of the node's own and each family in which it has an address there that
// others can reach, the neighbours to be asked by ARP or NDP, and by packets of full size.
func (s neighbourhood) groups() (out [][]Probe) {
	for _, l := range s.own() {
		for _, bits := range []int{32, 128} {
			reached := func(a rtnl.Address) bool {
				return a.Link == l.Name && a.Scope == "global" && a.Prefix.Addr().BitLen() == bits
			}
			if !slices.ContainsFunc(s.addresses, reached) {
				continue
			}
			var near, full []Probe
			for _, addr := range s.on(l.Name, bits) {
				near = append(near, neighbour(neighbourProbe, l.Name, addr))
				full = append(full, neighbour(fullProbe, l.Name, addr))
			}
			if len(near) > 0 {
				out = append(out, near, full)
			}
		}
	}
	return out
}

// on are those to be asked on a link, best first: who answered just now, who did once, the next hop
// of a route that nobody has used yet; a next hop before others; an address of everywhere before
// one of the link.
func (s neighbourhood) on(link string, bits int) (out []netip.Addr) {
	rank := map[netip.Addr]int{}
	for _, r := range s.routes {
		if r.Link == link && r.Gateway.BitLen() == bits {
			rank[r.Gateway.WithZone("")] = 8
		}
	}
	for _, n := range s.neighbours {
		if n.Link != link || n.Addr.BitLen() != bits {
			continue
		}
		place := 5
		if n.Fresh {
			place = 1
		}
		if _, hop := rank[n.Addr]; !hop {
			place += 2
		}
		if n.Addr.IsLinkLocalUnicast() {
			place++
		}
		rank[n.Addr] = place
	}
	out = slices.SortedStableFunc(maps.Keys(rank),
		func(a, b netip.Addr) int { return cmp.Or(rank[a]-rank[b], a.Compare(b)) })
	return out[:min(len(out), mostAsked)]
}

// ownAddresses are the addresses that others know the node by: on links that a default route leads
// through, those that no server gave. An address of one host beside that of a network may move
// between nodes.
func (s neighbourhood) ownAddresses() (out []Probe) {
	for _, a := range s.addresses {
		uplink := slices.ContainsFunc(s.routes,
			func(r rtnl.Route) bool { return r.Dst.Bits() == 0 && r.Link == a.Link })
		moves := a.Prefix.IsSingleIP() && slices.ContainsFunc(s.addresses, func(o rtnl.Address) bool {
			return o.Link == a.Link && o.Scope == "global" && o.Prefix.Addr().BitLen() == a.Prefix.Bits() &&
				!o.Prefix.IsSingleIP()
		})
		if uplink && a.Scope == "global" && !a.Dynamic && !moves {
			out = append(out, Probe(addressProbe+":"+a.Prefix.Addr().String()))
		}
	}
	return out
}

// own are the links of the node's own network: devices and what is made of them, bridges with such
// a port, and what a default route leads through. On those of pods nobody has to stay. Point to
// point nobody is resolved.
func (s neighbourhood) own() (out []rtnl.Link) {
	mine := map[string]bool{}
	for _, r := range s.routes {
		mine[r.Link] = mine[r.Link] || r.Dst.Bits() == 0
	}
	for _, l := range s.links {
		mine[l.Name] = mine[l.Name] || l.Physical || slices.Contains([]string{"vlan", "bond", "team"}, l.Kind)
	}
	for _, l := range s.links {
		mine[l.Master] = mine[l.Master] || mine[l.Name]
	}
	for _, l := range s.links {
		if mine[l.Name] && !l.Loopback && !l.PtP {
			out = append(out, l)
		}
	}
	return out
}
