package network

import "github.com/netwright/netwright/pkg/cleanup"

// felixResidue adds what Felix leaves, for each network that uses it for policy: calico, canal,
// hybridnet. Names: felix/rules/rule_defs.go of https://github.com/projectcalico/calico. The names
// with felix- are those of Felix before version 3.
func felixResidue(l cleanup.Residue) cleanup.Residue {
	// The ifb links belong to QoS, since Calico 3.30: felix/dataplane/linux/qos/qos.go.
	l.Links = append(l.Links, cleanup.LinkSelector{Name: "cali*", Kind: "veth"},
		cleanup.LinkSelector{Name: "bwcali*", Kind: "ifb"})
	return l.And(felixIPTables()).And(felixNFTables())
}

// felixIPTables returns what Felix has while it writes policy with iptables, legacy or nft. In eBPF
// mode it writes a part of this too.
func felixIPTables() cleanup.Residue {
	return cleanup.Residue{
		Chains: []cleanup.ChainSelector{{Chain: "cali-*"}, {Comment: "cali:*"}, {Chain: "felix-*"}, {Chain: "califw-*"},
			{Chain: "calitw-*"}, {Chain: "califh-*"}, {Chain: "calith-*"}, {Chain: "calipi-*"}, {Chain: "calipo-*"}},
		IPSets: []string{"cali40*", "cali60*", "cali4t*", "cali6t*", "felix-4-*", "felix-6-*"},
	}
}

// felixNFTables returns what Felix has while it writes policy with nftables.
func felixNFTables() cleanup.Residue {
	return cleanup.Residue{Tables: []cleanup.TableSelector{{Family: "ip", Name: "calico"},
		{Family: "ip6", Name: "calico"}, {Family: "arp", Name: "calico-arp"}}}
}

// felixReady returns the check of the address where Felix reports that it has programmed this node.
// FELIX_HEALTHENABLED switches it on. Calico's manifests set it for their own probes.
// https://docs.tigera.io/calico/latest/reference/felix/configuration
func felixReady() HealthCheck {
	return HealthCheck{Text: "Felix is ready", URL: "http://localhost:9099/readiness",
		Missing: "look at the log of calico-node on this node; nothing listens there where FELIX_HEALTHENABLED is " +
			"false"}
}
