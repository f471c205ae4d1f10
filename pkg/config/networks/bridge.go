package networks

import (
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

// Bridge is a Linux bridge with host-local IPAM and static routes between the nodes. It has neither
// a DaemonSet nor a controller.
type Bridge struct {
	// MTU: Sets the MTU of the pods' links in bytes. Without it, the agent takes the smallest MTU
	// of the links that are up.
	MTU int `json:"mtu,omitempty"`
	// Hairpin: true lets a pod reach itself through its service.
	Hairpin bool `json:"hairpin"`
	// Nodes: Lists the members, including this node. The agent makes the routes between nodes from
	// the list. A document below nodes/ replaces an entry of the same name.
	Nodes []Peer `json:"nodes,omitempty"`
}

func (b *Bridge) fields() []decode.Field {
	return []decode.Field{
		decode.MTU("mtu", &b.MTU),
		decode.Bool("hairpin", &b.Hairpin).Default(true),
		{Name: "nodes", Set: bridgeNodes(&b.Nodes)},
	}
}

func bridgeNodes(to *[]Peer) decode.Set {
	return func(v decode.Reading) {
		seen := make(decode.Keys)
		put := decode.Merging(to, func(p Peer) string { return p.Name })
		v.List(func(item decode.Reading) {
			p := Peer{Origin: item.Origin(), AddressOrigin: item.Origin()}
			item.Mapping([]decode.Field{
				decode.Text("name", &p.Name, decode.ValidName),
				decode.Addresses("address", &p.Address),
				decode.CIDRList("podCIDRs", &p.PodCIDRs),
			})
			if item.Required("name") && item.Field("name").Unique(seen, item.Get("name").Str()) {
				put(p)
			}
		})
	}
}

// Peer is another node of the cluster, with what a network without a controller must know about it.
type Peer struct {
	// Name: Sets the name of the node.
	Name string `json:"name"`
	// Address: Sets the next hop of the routes to the node's pods, one address for each family.
	Address values.Addresses `json:"address"`
	// PodCIDRs: Lists the ranges of the node's pods.
	PodCIDRs values.CIDRs    `json:"podCIDRs"`
	Origin   document.Origin `json:"origin"`
	// AddressOrigin is where Address is set. Origin is where PodCIDRs is.
	AddressOrigin document.Origin `json:"-"`
}

func (b *Bridge) check(s *ClusterSettings, r *decode.Reporter) {
	s.checkMTU(r, "spec.networking.bridge.mtu", b.MTU, 0)
}
