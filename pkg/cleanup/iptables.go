package cleanup

import (
	"context"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/tasks"
)

func (m ChainSelector) ofRules() bool {
	return m.Comment != "" || m.Target != "" || m.In != "" || m.Out != "" || m.Set != ""
}

func (m ChainSelector) inChain(c firewall.IPTChain) bool {
	return asked(m.Table, c.Table) && askedLike(m.Chain, c.Name)
}

func (m ChainSelector) ofRule(r firewall.IPTRule) bool {
	return (m.Comment == "" || slices.ContainsFunc(r.Comments,
		func(comment string) bool { return match(m.Comment, comment) })) &&
		askedLike(m.Target, r.Target) && askedLike(m.In, r.In) && askedLike(m.Out, r.Out) &&
		(m.Set == "" || slices.ContainsFunc(r.Sets, func(set string) bool { return match(m.Set, set) }))
}

func findChains(ctx context.Context, v host.View, l Residue, s Scope) ([]item, error) {
	if len(l.Chains) == 0 && len(l.Portmap) == 0 {
		return nil, nil
	}
	chains, err := v.Firewall.IPTChains(ctx)
	if err != nil {
		return nil, err
	}
	var out []item
	for len(chains) > 0 {
		head := chains[0]
		same := func(c firewall.IPTChain) bool {
			return c.Backend == head.Backend && c.Family == head.Family && c.Table == head.Table
		}
		table := slices.DeleteFunc(slices.Clone(chains), func(c firewall.IPTChain) bool { return !same(c) })
		chains = slices.DeleteFunc(chains, same)
		portmap, err := l.portmapChains(v, table)
		if err != nil {
			return nil, err
		}
		out = append(out, findInTable(table, portmap, l, s)...)
	}
	return out, nil
}

// findInTable finds what is removed from one table, including portmap's chains. The removal of the
// first item removes all of them in one transaction, because chains refer to each other.
func findInTable(table []firewall.IPTChain, portmap map[string]bool, l Residue, s Scope) []item {
	going := map[string]bool{}
	for _, c := range table {
		going[c.Name] = !c.Builtin && !slices.Contains(s.Retain, chainKey(c)) &&
			(portmap[c.Name] || !portmapChain(c.Name) &&
				slices.ContainsFunc(l.Chains, func(m ChainSelector) bool { return !m.ofRules() && m.inChain(c) }))
	}
	var gone []firewall.IPTRemoval
	var out []item
	for _, c := range table {
		if s.retains(chainKey(c)) {
			continue // it is removed with its rules
		}
		r := firewall.IPTRemoval{Chain: c, Whole: going[c.Name]}
		if r.Whole {
			gone = append(gone, r)
			out = append(out, item{Key: chainKey(c), Detail: "chain with " + plural.Of(len(c.Rules), "rule")})
			continue
		}
		for _, rule := range c.Rules {
			if going[rule.Target] || slices.ContainsFunc(l.Chains,
				func(m ChainSelector) bool { return m.ofRules() && m.inChain(c) && m.ofRule(rule) }) {
				r.Rules = append(r.Rules, rule)
				out = append(out, item{Key: chainKey(c), Detail: "rule " + rule.String()})
			}
		}
		if len(r.Rules) > 0 {
			gone = append(gone, r)
		}
	}
	if len(out) > 0 {
		out[0].remove = func(ctx context.Context, h *host.Host) error { return h.Firewall.RemoveIPT(ctx, gone) }
	}
	return out
}

func chainKey(c firewall.IPTChain) graph.Key {
	flavour := "nft"
	if c.Backend == firewall.BackendLegacy {
		flavour = "legacy"
	}
	return graph.MakeKey(tasks.KindChain, c.Family+"/"+flavour+"/"+c.Table+"/"+c.Name)
}
