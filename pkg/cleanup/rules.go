package cleanup

import (
	"context"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
)

func (m RuleSelector) matches(r rtnl.Rule, s Scope) bool {
	switch {
	case !asked(m.Priority, r.Priority), !asked(m.Mark, r.Mark), !asked(m.Mask, r.Mask), !askedLike(m.IIF, r.IIF),
		!asked(m.Protocol, r.Protocol), m.From && !r.Src.IsValid(), m.To && !r.Dst.IsValid(),
		m.Marked && r.Mark == 0, m.All && !r.ForAll(), m.Bare():
		return false
	case m.Pods && !rtnl.Within(s.PodCIDRs, r.Src) && !rtnl.Within(s.PodCIDRs, r.Dst):
		return false
	case m.Last != 0:
		return r.Table >= m.Table && r.Table <= m.Last
	}
	return asked(m.Table, r.Table)
}

func findRules(ctx context.Context, v host.View, l Residue, s Scope) ([]item, error) {
	if len(l.Rules) == 0 {
		return nil, nil
	}
	rules, others, err := l.ownRules(ctx, v, s)
	if err != nil {
		return nil, err
	}
	var out []item
	var ranged []int // tables of a range to which the network's rules lead
	for _, r := range rules {
		if !others[r.Table] &&
			slices.ContainsFunc(l.Rules, func(m RuleSelector) bool { return m.Last != 0 && m.matches(r, s) }) {
			ranged = append(ranged, r.Table)
		}
		out = append(out, item{Key: tasks.RuleKey(r), Detail: fmt.Sprintf("lookup %d", r.Table),
			remove: func(ctx context.Context, h *host.Host) error { return h.Net.DelUnmanagedRule(ctx, r) }})
	}
	routes, err := routesOf(ctx, v, ranged)
	return append(routes, out...), err
}

// routesOf finds the routes in tables of a range to which only the network's rules lead. Nothing
// else shows who owns such a table. The routes are removed before the rules, so that the rules
// still show the owner after an interruption.
func routesOf(ctx context.Context, v host.View, tables []int) ([]item, error) {
	if len(tables) == 0 {
		return nil, nil
	}
	routes, err := v.Net.Routes(ctx, rtnl.AllTables)
	if err != nil {
		return nil, err
	}
	var out []item
	for _, r := range routes {
		if slices.Contains(tables, r.Table) && !r.OfMachine() {
			out = append(out, foundRoute(r))
		}
	}
	return out, nil
}

func findLocalRule(ctx context.Context, v host.View, l Residue, _ Scope) ([]item, error) {
	if !l.LocalRule {
		return nil, nil
	}
	rules, err := v.Net.Rules(ctx)
	if err != nil {
		return nil, err
	}
	var out []item
	for _, family := range []int{4, 6} {
		if at := rtnl.LocalRulePriority(rules, family); at != 0 {
			out = append(out, item{Key: graph.MakeKey(tasks.KindRule, fmt.Sprintf("ipv%d %d lookup local", family, at)),
				Detail: "back to priority 0",
				remove: func(ctx context.Context, h *host.Host) error { return h.Net.RestoreLocalRule(ctx) }})
		}
	}
	return out, nil
}
