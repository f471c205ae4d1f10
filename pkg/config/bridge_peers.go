package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/networks"
)

// peers collects the members of a network without a controller: those of the network's own list of
// nodes, and those of nodes/*.yaml, which win. It fills n.Peers, and n.PodCIDRs and n.Address if
// only the list has them. It returns all members that have pod CIDRs, n included, for validation.
func (l *loader) peers(n *Node) []networks.Peer {
	all := make(map[string]networks.Peer, len(n.Networking.Bridge.Nodes)+len(l.nodes))
	for _, p := range n.Networking.Bridge.Nodes {
		all[p.Name] = p
	}
	if me, ok := all[n.Name]; ok {
		n.adopt(me)
	}
	if !l.skipPeers {
		for _, doc := range l.nodes {
			if _, name := kindOf(doc.Path); name != n.Name {
				all[name] = overlay(all[name], l.member(doc))
			}
		}
	}
	delete(all, n.Name)
	for _, p := range all {
		if len(p.PodCIDRs) > 0 {
			n.Peers = append(n.Peers, p)
		}
	}
	slices.SortStableFunc(n.Peers, func(a, b networks.Peer) int { return strings.Compare(a.Name, b.Name) })
	members := slices.Clone(n.Peers)
	if len(n.PodCIDRs) > 0 {
		members = append(members,
			networks.Peer{Name: n.Name, Address: n.Address, PodCIDRs: n.PodCIDRs, Origin: n.Origin("spec.podCIDRs"),
				AddressOrigin: n.Origin("spec.address")})
	}
	return members
}

// adopt takes from the network's list what the node's own document does not set.
func (n *Node) adopt(me networks.Peer) {
	if len(n.PodCIDRs) == 0 && len(me.PodCIDRs) > 0 {
		n.PodCIDRs = me.PodCIDRs
		n.origins["spec.podCIDRs"] = me.Origin
	}
	if len(n.Address) == 0 && len(me.Address) > 0 {
		n.Address = me.Address
		n.origins["spec.address"] = me.AddressOrigin
	}
}

// overlay returns p, with the values that q has in place of p's.
func overlay(p, q networks.Peer) networks.Peer {
	if len(q.PodCIDRs) > 0 {
		p.PodCIDRs = q.PodCIDRs
	}
	if len(q.Address) > 0 {
		p.Address, p.AddressOrigin = q.Address, q.AddressOrigin
	}
	p.Name, p.Origin = q.Name, q.Origin
	return p
}

// member reads another node's document, once.
func (l *loader) member(doc *decode.Doc) networks.Peer {
	if p, ok := l.members[doc]; ok {
		return p
	}
	_, name := kindOf(doc.Path)
	other := &Node{origins: make(decode.Origins)}
	p := networks.Peer{Name: name, Origin: document.Origin{File: doc.Path, Line: 1, Column: 1}}
	if l.read(doc, decode.KindNode, other) {
		p.Address, p.PodCIDRs = other.Address, other.PodCIDRs
		p.Origin = cmp.Or(other.Origin("spec.podCIDRs"), p.Origin)
		p.AddressOrigin = other.Origin("spec.address")
	}
	l.members[doc] = p
	return p
}
