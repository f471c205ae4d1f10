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
	"github.com/netwright/netwright/pkg/plural"
)

// What the API's Nodes say about other nodes is only a claim: every client that may write Nodes
// can make it, and a kubelet can make it about its own Node. The agent believes a claim if the
// controller manager of the cluster could have made it for a node on the same link. See
// docs/adr/0021.

// claim is a pod range that a Node claims.
type claim struct {
	node   string
	pods   netip.Prefix
	via    netip.Addr // the address of the node; invalid: the Node has none of that family
	made   time.Time  // when the Node was created
	before bool       // an earlier pass believed it
	stands bool       // it was believed by an agent that believed every claim
}

// ground is what claims are checked against.
type ground struct {
	stated   []netip.Prefix // the ranges of all pods, if a document states them
	own      []netip.Prefix // the ranges of this node's pods
	taken    []taken
	gateways []netip.Addr
	ours     []netip.Addr
}

// taken is a range that cannot contain pods of other nodes.
type taken struct {
	text   string
	prefix netip.Prefix
}

// groundOf reads what claims are checked against. own are the pod CIDRs of this node's own Node
// object. Pod CIDRs of a document win over them.
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

// believe returns the peers whose claims are believed. A claim that is not believed only makes a
// note: no claim may cost the node its configuration. If two claims want one range or address, the
// claim in force wins, and otherwise the claim of the older Node. A claim that an earlier release
// of the agent believed stays, with a note, until the documents cover it or its Node claims
// another range.
func (g ground) believe(
	claimed []ledger.CachedPeer, before ledger.APICache,
) (believed []ledger.CachedPeer, notes []model.Note) {
	ranges, addresses := map[netip.Prefix]string{}, map[netip.Addr]string{} // by Node name
	var odd []taken                                                         // ranges of another length
	kept := map[string]map[netip.Prefix]bool{}                              // by node: whether the claim was believed by an earlier release only
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
			notes = append(notes, warning("peer not covered by podCIDR: the route to %s of Node %s was set "+
				"before and is kept, but would be refused now: %s", c.pods, c.node, why))
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

// claims returns the claims of peers, those that win first.
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

// addressOf returns the address by which the pods of a range are reached.
func addressOf(p ledger.CachedPeer, pods netip.Prefix) netip.Addr {
	if pods.Addr().Is4() {
		return values.Addresses(p.Addresses).V4()
	}
	return values.Addresses(p.Addresses).V6()
}

// refuses returns why a claim is not believed, independent of other claims; "": it is believed.
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
		return "it must lie in spec.podCIDR, and no document states a range of that family there"
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
		if isBroadcast(c.via, t.prefix) { // the kernel accepts no route through a broadcast address
			return fmt.Sprintf("its address %s is the broadcast address of %s, %s", c.via, t.text, t.prefix)
		}
	}
	return ""
}

// isBroadcast reports whether an address is the broadcast address of an IPv4 subnet.
func isBroadcast(a netip.Addr, subnet netip.Prefix) bool {
	return a.Is4() && subnet.Bits() < 31 && subnet.Contains(a) && !subnet.Contains(a.Next())
}

// conflict returns the believed claim that contradicts c; "": there is none. Ranges of one length
// overlap only if they are equal.
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

// fewOf returns notes about refused claims. It names only some of them: thousands of Nodes would
// say no more than ten.
func fewOf(refused []string) (notes []model.Note) {
	const most = 10
	for _, text := range refused[:min(len(refused), most)] {
		notes = append(notes, warning("%s", text))
	}
	if more := len(refused) - most; more > 0 {
		notes = append(notes, warning("no route to %s that Nodes claim", plural.Of(more, "more range")))
	}
	return notes
}

func warning(format string, args ...any) model.Note {
	return model.Note{Level: network.Warning, Text: fmt.Sprintf(format, args...)}
}
