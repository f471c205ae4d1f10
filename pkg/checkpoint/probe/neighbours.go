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

// Neighbours come and go. So no single neighbour must answer after the change, but one of those on
// the same link and of the same family that answered before. If none answers, the link no longer
// carries packets of this family, which matters even if no default route uses the link.

// mostAsked is the maximum number of neighbours that are probed on a link in a family.
const mostAsked = 4

// neighbourhood has the links, addresses, routes and neighbours of the node.
type neighbourhood struct {
	links      []rtnl.Link
	addresses  []rtnl.Address
	routes     []rtnl.Route // of the main table; each next hop of a default route is one entry
	neighbours []rtnl.Neighbour
}

// lookAtNeighbours reads the neighbourhood from the kernel.
func lookAtNeighbours(ctx context.Context, h *host.Host) (s neighbourhood, err error) {
	o, err := h.Live.Net.Overview(ctx)
	if err != nil {
		return s, err
	}
	s.links, s.addresses, s.routes = o.Links, o.Addresses, append(o.Routes, o.Defaults...)
	s.neighbours, err = h.Live.Net.Neighbours(ctx)
	return s, err
}

// groups returns the neighbours to probe, for each of the node's own links and each family in which
// the link has a global address. Each group comes twice: with ARP or NDP, and with packets of full
// size.
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

// on returns the neighbours to probe on a link, best first: those that answered just now, those
// that answered once, then next hops without a neighbour entry. Among these a next hop comes before
// another neighbour, and a global address before a link-local one.
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

// ownAddresses returns probes of the addresses by which others know the node: static addresses on
// links of a default route. It leaves out a single address (/32, /128) beside one with a network,
// because such an address may move between nodes.
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

// own returns the links of the node's own network: devices, links on top of devices, bridges with
// such a port, and links of a default route. It leaves out links of pods, because pods may end. It
// leaves out point-to-point links, on which no neighbour is resolved.
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
