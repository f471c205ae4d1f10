package network

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
)

// mainTable is the routing table that the kernel uses by default (RT_TABLE_MAIN).
const mainTable = 254

// addRoutes adds a route to each pod CIDR of each peer, through the peer's address of the same
// family. If a peer cannot be reached in one hop, the kernel would refuse the route, so addRoutes
// adds a warning instead. The routes to the other peers are still added.
func (b *Built) addRoutes(in Input) {
	for _, peer := range in.Peers {
		origin := peer.Origin.String()
		if len(peer.PodCIDRs) == 0 {
			b.note(Warning, origin, "no route to the pods of %s: no document names its pod CIDRs", peer.Name)
		}
		for _, cidr := range peer.PodCIDRs {
			if slices.ContainsFunc(in.PodCIDRs, cidr.Overlaps) {
				b.note(Warning, origin, "no route to %s of %s: the range overlaps this node's own %s; give one of "+
					"the two nodes another range", cidr, peer.Name, in.PodCIDRs)
				continue
			}
			via := peer.Address.V4()
			if cidr.Addr().Is6() {
				via = peer.Address.V6()
			}
			if !via.IsValid() {
				b.note(Warning, origin, "no route to %s of %s: that node has no address of this family",
					cidr, peer.Name)
				continue
			}
			link, ok := linkTo(in.Facts, via)
			if !ok {
				b.note(Warning, origin, "no route to %s of %s: %s is in no subnet of this node's links, and bridge "+
					"routes in one hop only (the nodes must share a layer 2 network)",
					cidr, peer.Name, via)
				b.Notes[len(b.Notes)-1].Machine = true
				continue
			}
			b.add(tasks.Route{
				Meta: tasks.Meta{From: origin, Why: "the pods of " + peer.Name, Refused: in.onLink(cidr)},
				Route: rtnl.Route{Type: "unicast", Dst: cidr, Gateway: via, Link: link, Table: mainTable,
					Protocol: rtnl.RouteProtocol}})
		}
	}
}

// onLink returns why a route to a range of pods would do harm; "" if it would not. It would if the
// range lies in the subnet of a link of this node, and no document includes it in spec.podCIDR:
// then the node could no longer reach the machines of that subnet. No probe would notice, because
// the node need not know these machines. A range that includes a whole subnet does no harm: the
// link's own route has a longer prefix.
func (in Input) onLink(pods netip.Prefix) string {
	holds := func(p netip.Prefix) bool { return p.Bits() <= pods.Bits() && p.Overlaps(pods) }
	if !in.Node.Origin("spec.podCIDR").IsDefault() && slices.ContainsFunc(in.Node.PodCIDR, holds) {
		return ""
	}
	for _, l := range in.Facts.Links {
		if l.Loopback || l.Name == BridgeLink || l.Master == BridgeLink {
			continue
		}
		if i := slices.IndexFunc(l.Addresses, holds); i >= 0 {
			return fmt.Sprintf("%s lies in %s, the subnet of this node's link %s: the node would no longer reach "+
				"the hosts there; give these pods another range, or state it in spec.podCIDR",
				pods, l.Addresses[i].Masked(), l.Name)
		}
	}
	return ""
}

// linkTo returns the link whose subnet has an address, and prefers the uplink. If the facts have no
// addresses of links (facts of another machine), it returns the uplink without a check.
func linkTo(f *host.Facts, to netip.Addr) (string, bool) {
	found, seen := "", false
	for _, l := range f.Links {
		if l.Loopback || l.Name == BridgeLink || l.Master == BridgeLink {
			continue
		}
		for _, p := range l.Addresses {
			seen = seen || !p.Addr().IsLinkLocalUnicast()
			if p.Bits() < p.Addr().BitLen() && p.Masked().Contains(to) && (found == "" || l.Name == f.Uplink) {
				found = l.Name
			}
		}
	}
	if found == "" && !seen && f.Uplink != "" {
		return f.Uplink, true
	}
	return found, found != ""
}

// BridgeLink is the name of the bridge. kubenet uses the same name, which tools and people know.
const BridgeLink = "cbr0"
