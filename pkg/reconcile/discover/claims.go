package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
)

// What the API's Nodes say of other nodes is a claim: whoever may write Nodes says it, and a
// kubelet may say it of its own. A claim is believed if it is one that the cluster's controller
// manager could have made of a node on this one's link. See docs/adr/0021.

// claim is a range of pods that a Node says it has.
type claim struct {
	node   string
	pods   netip.Prefix
	via    netip.Addr // by which the node is reached; invalid: it says none of that family
	made   time.Time  // the Node
	before bool       // an earlier pass believed it
	stands bool       // so did one of an agent that believed every claim
}

// ground is what claims are held against.
type ground struct {
	stated   []netip.Prefix // ranges of all pods, where a document says them
	own      []netip.Prefix // those of this node's pods
	taken    []taken
	gateways []netip.Addr
	ours     []netip.Addr
}

// taken is a range in which no pods of others are.
type taken struct {
	text   string
	prefix netip.Prefix
}

// groundOf reads what claims are held against. own are the pod CIDRs that the node's own Node has;
// those of a document win.
func groundOf(ctx context.Context, n *config.Node, v host.View, own []netip.Prefix) (ground, error) {
	g := ground{own: own}
	if len(n.PodCIDRs) > 0 {
		g.own = n.PodCIDRs
	}
	if !n.Origin("spec.podCIDR").IsDefault() {
		g.stated = n.PodCIDR
	}
	for _, p := range n.ServiceClusterIPRange {
		g.taken = append(g.taken, taken{"the services' range", p})
	}
	for _, p := range g.own {
		g.taken = append(g.taken, taken{"this node's own range", p})
	}
	for _, l := range v.Facts.Links {
		for _, p := range l.Addresses {
			g.ours = append(g.ours, p.Addr())
			if l.Name != network.BridgeLink {
				g.taken = append(g.taken, taken{"the subnet of the link " + l.Name, p.Masked()})
			}
		}
	}
	routes, err := v.Net.Routes(ctx, rtnl.AllTables)
	if err != nil && !errors.Is(err, host.ErrNoLiveState) {
		return g, fmt.Errorf("read the gateways that no peer may be: %w", err)
	}
	for _, r := range routes {
		if r.Gateway.IsValid() && r.Protocol != rtnl.RouteProtocol {
			g.gateways = append(g.gateways, r.Gateway)
		}
	}
	return g, nil
}

// believe sorts the peers that Nodes claim to be. A range that is not believed is a note, and
// nothing else: no claim may cost the node its configuration. Of two claims to one range or address
// the one that is in force counts, else that of the older Node. What an agent of an earlier release
// believed goes on, with a note, until the documents cover it or its Node claims another.
func (g ground) believe(
	claimed []ledger.CachedPeer, before ledger.APICache,
) (believed []ledger.CachedPeer, notes []model.Note) {
	ranges, addresses := map[netip.Prefix]string{}, map[netip.Addr]string{} // of nodes
	var odd []taken                                                         // ranges of another length
	kept := map[string]map[netip.Prefix]bool{}                              // by node: whether it stands from before
	var refused []string
	for _, c := range claims(claimed, before) {
		why := g.refuses(c)
		if why == "" {
			why = conflict(c, ranges, addresses, odd)
		}
		switch {
		case why != "" && (!c.stands || ranges[c.pods] != ""): // one range has one route
			refused = append(refused, fmt.Sprintf("no route to %s of Node %s: %s", c.pods, c.node, why))
			continue
		case why != "":
			notes = append(notes, warning("peer not covered by podCIDR: the route to %s of Node %s stands from "+
				"before, and would be refused now: %s", c.pods, c.node, why))
			odd = append(odd, taken{"the range of Node " + c.node, c.pods})
		}
		ranges[c.pods], addresses[c.via] = c.node, c.node
		if kept[c.node] == nil {
			kept[c.node] = map[netip.Prefix]bool{}
		}
		kept[c.node][c.pods] = why != ""
	}
	for _, p := range claimed {
		all := p.PodCIDRs
		p.PodCIDRs, p.Stands = nil, nil
		for _, c := range all {
			stands, ok := kept[p.Name][c]
			if !ok || slices.Contains(p.PodCIDRs, c) {
				continue
			}
			if p.PodCIDRs = append(p.PodCIDRs, c); stands {
				p.Stands = append(p.Stands, c)
			}
		}
		if len(p.PodCIDRs) > 0 {
			believed = append(believed, p)
		}
	}
	return believed, append(notes, fewOf(refused)...)
}

// claims are the ranges that peers claim, in the order in which they count.
func claims(claimed []ledger.CachedPeer, before ledger.APICache) (out []claim) {
	earlier := map[string]ledger.CachedPeer{}
	for _, p := range before.Peers {
		earlier[p.Name] = p
	}
	for _, p := range claimed {
		had := earlier[p.Name]
		for _, pods := range p.PodCIDRs {
			c := claim{node: p.Name, pods: pods, via: addressOf(p, pods), made: p.Made}
			c.before = slices.Contains(had.PodCIDRs, pods) && addressOf(had, pods) == c.via
			c.stands = c.before && (!before.Judged || slices.Contains(had.Stands, pods))
			out = append(out, c)
		}
	}
	place := func(c claim) int {
		if c.before {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(out, func(a, b claim) int {
		return cmp.Or(place(a)-place(b), a.made.Compare(b.made), strings.Compare(a.node, b.node))
	})
	return out
}

// addressOf is where the pods of a range are reached by.
func addressOf(p ledger.CachedPeer, pods netip.Prefix) netip.Addr {
	if pods.Addr().Is4() {
		return values.Addresses(p.Addresses).V4()
	}
	return values.Addresses(p.Addresses).V6()
}

// refuses says why a claim is not believed, whoever else there is; "" if it is.
func (g ground) refuses(c claim) string {
	family := func(p netip.Prefix) bool { return p.Addr().Is4() == c.pods.Addr().Is4() }
	own := slices.IndexFunc(g.own, family)
	stated := slices.IndexFunc(g.stated, family)
	switch {
	case own < 0:
		return "this node's pods have no addresses of that family"
	case g.own[own].Bits() != c.pods.Bits():
		return fmt.Sprintf("it is no /%d, as this node's own %s", g.own[own].Bits(), g.own[own])
	case stated < 0:
		return "no document states a range of that family as spec.podCIDR, in which it would have to lie"
	case g.stated[stated].Bits() > c.pods.Bits() || !g.stated[stated].Contains(c.pods.Addr()):
		return fmt.Sprintf("it does not lie in spec.podCIDR, %s", g.stated[stated])
	case !c.via.IsValid():
		return "it has no InternalIP of that family"
	case slices.Contains(g.ours, c.via):
		return fmt.Sprintf("its address %s is this node's own", c.via)
	case slices.Contains(g.gateways, c.via):
		return fmt.Sprintf("its address %s is a gateway of this node", c.via)
	}
	for _, t := range g.taken {
		if t.prefix.Overlaps(c.pods) {
			return fmt.Sprintf("it overlaps %s, %s", t.text, t.prefix)
		}
		if isBroadcast(c.via, t.prefix) { // the kernel takes no route by it
			return fmt.Sprintf("its address %s is the broadcast address of %s, %s", c.via, t.text, t.prefix)
		}
	}
	return ""
}

// isBroadcast says that an address is the last of a subnet of IPv4 that has a broadcast address.
func isBroadcast(a netip.Addr, subnet netip.Prefix) bool {
	return a.Is4() && subnet.Bits() < 31 && subnet.Contains(a) && !subnet.Contains(a.Next())
}

// conflict says which claim that is believed is to the same thing; "" if none is. Ranges of one
// length overlap only where they are equal.
func conflict(c claim, ranges map[netip.Prefix]string, addresses map[netip.Addr]string, odd []taken) string {
	if node, ok := ranges[c.pods]; ok {
		return "Node " + node + " has it"
	}
	if node, ok := addresses[c.via]; ok && node != c.node {
		return fmt.Sprintf("its address %s is that of Node %s", c.via, node)
	}
	for _, t := range odd {
		if t.prefix.Overlaps(c.pods) {
			return fmt.Sprintf("it overlaps %s, %s", t.text, t.prefix)
		}
	}
	return ""
}

// fewOf are notes of what is refused: some by name, for thousands of Nodes say no more than ten.
func fewOf(refused []string) (notes []model.Note) {
	const most = 10
	for _, text := range refused[:min(len(refused), most)] {
		notes = append(notes, warning("%s", text))
	}
	if more := len(refused) - most; more > 0 {
		notes = append(notes, warning("no route to %d more ranges that Nodes claim", more))
	}
	return notes
}

func warning(format string, args ...any) model.Note {
	return model.Note{Level: network.Warning, Text: fmt.Sprintf(format, args...)}
}
