package network

import (
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/config"
)

// All lists the networks, by name. What it returns is shared: a row is never changed, only copied.
func All() []Network { return slices.Clone(rows()) }

// rows makes the rows once, for each pass asks for its network several times. To add one is one
// file and one line.
var rows = sync.OnceValue(func() []Network {
	all := []Network{
		aci(),
		amazonVPC(),
		antrea(),
		azure(),
		bridge(),
		calico(),
		canal(),
		cilium(),
		classic(),
		cni(),
		cniGenie(),
		coil(),
		contivVPP(),
		contrail(),
		custom(nil),
		danm(),
		exec(execDir, "*/*"),
		external(),
		flannel(),
		gcp(),
		hybridnet(),
		jaguar(),
		kVSwitch(),
		kindnet(),
		knitter(),
		kopeio(),
		kubeOVN(),
		kubeRouter(),
		kubenet(),
		lyftVPC(),
		multus(nil),
		noop(),
		nsxT(),
		ovn4nfv(),
		ovnKubernetes(),
		romana(),
		weave(),
	}
	for i := range all {
		all[i].Lifecycle.Disagreements = disagreementsOn(all[i].Name)
		all[i] = all[i].withModes()
		all[i].Residue.Types = slices.Concat(all[i].Residue.Types, all[i].Conf.Chain)
	}
	return all
})

// Of returns the network that a node's documents select: the row of that name, or what they
// declare, with multus before it where they say so. It is the one place that knows.
func Of(n *config.Node) (Network, bool) {
	net, known := Find(n.Networking.Name())
	if old, is := legacy(n); is {
		net = old
	}
	if c := n.Networking.Custom; c != nil {
		net, known = custom(c), true
	}
	if m := n.Networking.Multus; m != nil && known {
		net = net.below(multus(m))
	}
	return net, known
}

// Find returns the network that a key under spec.networking selects.
func Find(name string) (Network, bool) {
	for _, n := range rows() {
		if n.Name == name {
			return n, true
		}
	}
	return Network{}, false
}
