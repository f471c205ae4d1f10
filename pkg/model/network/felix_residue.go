package network

import "github.com/netwright/netwright/pkg/cleanup"

// felixResidue adds what Felix leaves, wherever it keeps policy: calico, canal, hybridnet. Its
// names: felix/rules/rule_defs.go of https://github.com/projectcalico/calico; those of felix- are
// from before its version 3.
func felixResidue(l cleanup.Residue) cleanup.Residue {
	// Those of QoS since Calico 3.30: felix/dataplane/linux/qos/qos.go.
	l.Links = append(l.Links, cleanup.LinkSelector{Name: "cali*", Kind: "veth"},
		cleanup.LinkSelector{Name: "bwcali*", Kind: "ifb"})
	return l.And(felixIPTables()).And(felixNFTables())
}

// felixIPTables is what it has while it writes policy by iptables, of either flavour. Its eBPF
// writes some of it as well.
func felixIPTables() cleanup.Residue {
	return cleanup.Residue{
		Chains: []cleanup.ChainSelector{{Chain: "cali-*"}, {Comment: "cali:*"}, {Chain: "felix-*"}, {Chain: "califw-*"},
			{Chain: "calitw-*"}, {Chain: "califh-*"}, {Chain: "calith-*"}, {Chain: "calipi-*"}, {Chain: "calipo-*"}},
		IPSets: []string{"cali40*", "cali60*", "cali4t*", "cali6t*", "felix-4-*", "felix-6-*"},
	}
}

// felixNFTables is what it has while it writes policy by nftables.
func felixNFTables() cleanup.Residue {
	return cleanup.Residue{Tables: []cleanup.TableSelector{{Family: "ip", Name: "calico"},
		{Family: "ip6", Name: "calico"}, {Family: "arp", Name: "calico-arp"}}}
}

// felixReady: where Felix says that it has programmed this node (FELIX_HEALTHENABLED, which
// Calico's manifests set for their own probes).
// https://docs.tigera.io/calico/latest/reference/felix/configuration
func felixReady() HealthCheck {
	return HealthCheck{Text: "Felix is ready", URL: "http://localhost:9099/readiness",
		Missing: "look at the log of calico-node on this node; nothing listens there where FELIX_HEALTHENABLED is " +
			"false"}
}
