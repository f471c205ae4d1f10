package desired

import (
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
)

// Cached returns what earlier passes discovered. It asks no API.
func (d *State) Cached(r ledger.Reader) model.Discovered {
	d.Planned(r, true)
	d.Had = ledger.Load(r).Head().Network
	learnt, err := ledger.LoadAPICache(r)
	if err != nil || learnt.Node != d.Node.Name {
		return model.Discovered{}
	}
	return Discovered(model.Discovered{}, learnt)
}

// Discovered adds the answers of the Kubernetes API to what was discovered by other means.
func Discovered(out model.Discovered, learnt ledger.APICache) model.Discovered {
	out.PodCIDRs = learnt.PodCIDRs
	for _, p := range learnt.Peers {
		out.Peers = append(out.Peers, networks.Peer{Name: p.Name, PodCIDRs: p.PodCIDRs, Address: p.Addresses,
			Origin: document.Origin{File: "Node " + p.Name}})
	}
	return out
}

// NodesWanted returns what the network needs to know about the API's Nodes.
func (d *State) NodesWanted() network.NodesWanted {
	if d.Pinned != nil {
		return network.NodesWanted{}
	}
	return WantsOfNodes(d.Node)
}

// WantsOfNodes returns what the network of a configuration needs to know about the API's Nodes.
func WantsOfNodes(n *config.Node) network.NodesWanted {
	row, ok := network.Of(n)
	if n.Name == "" || !ok || row.Nodes == nil {
		return network.NodesWanted{}
	}
	return row.Nodes(n)
}
