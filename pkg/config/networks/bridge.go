package networks

import (
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

// Bridge is a Linux bridge with host-local IPAM and static routes between the nodes. It has neither
// a DaemonSet nor a controller.
type Bridge struct {
	MTU     int  `json:"mtu,omitempty"` // of the pods' links; not said: the smallest MTU of the links that are up
	Hairpin bool `json:"hairpin"`       // a pod reaches itself through its service
	// Nodes: the members, this node included; the routes between nodes are made of them. A document
	// below nodes/ wins over an entry of the same name
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
			p := Peer{Origin: item.Origin()}
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
	Name     string           `json:"name"`     // of the node
	Address  values.Addresses `json:"address"`  // the next hop of the routes to its pods, each for its own family
	PodCIDRs values.CIDRs     `json:"podCIDRs"` // the range of its pods
	Origin   document.Origin  `json:"origin"`
}

func (b *Bridge) check(s *ClusterSettings, r *decode.Reporter) {
	s.checkMTU(r, "spec.networking.bridge.mtu", b.MTU, 0)
}
