package network

import "github.com/netwright/netwright/pkg/cleanup"

// felixLeaves adds what Felix leaves, wherever it keeps policy: calico, canal, hybridnet. Its names: felix/rules/rule_defs.go of
// https://github.com/projectcalico/calico; those of felix- are from before its version 3.
func felixLeaves(l cleanup.Leftovers) cleanup.Leftovers {
	l.Links = append(l.Links, cleanup.LinkMark{Name: "cali*", Kind: "veth"})
	l.Chains = append(l.Chains, cleanup.ChainMark{Chain: "cali-*"}, cleanup.ChainMark{Comment: "cali:*"}, cleanup.ChainMark{Chain: "felix-*"}, cleanup.ChainMark{Chain: "califw-*"},
		cleanup.ChainMark{Chain: "calitw-*"}, cleanup.ChainMark{Chain: "califh-*"}, cleanup.ChainMark{Chain: "calith-*"}, cleanup.ChainMark{Chain: "calipi-*"}, cleanup.ChainMark{Chain: "calipo-*"})
	l.Tables = append(l.Tables, cleanup.TableMark{Family: "ip", Name: "calico"}, cleanup.TableMark{Family: "ip6", Name: "calico"}, cleanup.TableMark{Family: "arp", Name: "calico-arp"})
	l.IPSets = append(l.IPSets, "cali40*", "cali60*", "cali4t*", "cali6t*", "felix-4-*", "felix-6-*")
	return l
}

// felixReady: where Felix says that it has programmed this node (FELIX_HEALTHENABLED, which Calico's manifests set for their own probes).
// https://docs.tigera.io/calico/latest/reference/felix/configuration
func felixReady() Sign {
	return Sign{What: "Felix is ready", URL: "http://localhost:9099/readiness", Missing: "look at the log of calico-node on this node; nothing listens there where FELIX_HEALTHENABLED is false"}
}
