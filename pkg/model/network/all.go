package network

// All lists the networks, by name. To add one is one file and one line.
func All() []Network {
	all := []Network{
		amazonVPC(),
		bridge(),
		calico(),
		cilium(),
		cni(),
		flannel(),
		gcp(),
		kindnet(),
		kubeRouter(),
		kubenet(),
	}
	for i := range all {
		all[i].Lifecycle.Disagreements = disagreementsOn(all[i].Name)
	}
	return all
}

// Find returns the network that a key under spec.networking selects.
func Find(name string) (Network, bool) {
	for _, n := range All() {
		if n.Name == name {
			return n, true
		}
	}
	return Network{}, false
}
