package tasks

import (
	"context"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// RuleMark names policy rules. All that is set must hold; a mark with a table
// alone means every rule that leads there.
type RuleMark struct {
	Priority int    `json:"priority,omitempty"`
	Mark     uint32 `json:"mark,omitempty"`
	Mask     uint32 `json:"mask,omitempty"`
	Table    int    `json:"table,omitempty"`
	Last     int    `json:"last,omitempty"` // tables from Table to Last
	IIF      string `json:"iif,omitempty"`  // pattern
	Pods     bool   `json:"pods,omitempty"` // from or to an address of the pods
}

func (m RuleMark) matches(r host.Rule, s Scope) bool {
	switch {
	case m.Priority != 0 && m.Priority != r.Priority, m.Mark != 0 && m.Mark != r.Mark, m.Mask != 0 && m.Mask != r.Mask,
		m.IIF != "" && !match(m.IIF, r.IIF):
		return false
	case m.Pods && !(r.Src.IsValid() && within(s.PodCIDRs, r.Src)) && !(r.Dst.IsValid() && within(s.PodCIDRs, r.Dst)):
		return false
	case m.Last != 0:
		return r.Table >= m.Table && r.Table <= m.Last
	}
	return m.Table == 0 || m.Table == r.Table
}

func findRules(ctx context.Context, v host.View, l Leftovers, s Scope) ([]Found, error) {
	if len(l.Rules) == 0 {
		return nil, nil
	}
	rules, err := v.Rules(ctx)
	if err != nil {
		return nil, err
	}
	var out []Found
	for _, r := range rules {
		if r.OfMachine() || !slices.ContainsFunc(l.Rules, func(m RuleMark) bool { return m.matches(r, s) }) {
			continue
		}
		out = append(out, Found{Key: RuleKey(r), What: fmt.Sprintf("lookup %d", r.Table),
			remove: func(ctx context.Context, h *host.Host) error { return h.DelForeignRule(ctx, r) }})
	}
	return out, nil
}

func findLocalRule(ctx context.Context, v host.View, l Leftovers, _ Scope) ([]Found, error) {
	if !l.LocalRule {
		return nil, nil
	}
	rules, err := v.Rules(ctx)
	if err != nil {
		return nil, err
	}
	var out []Found
	for _, family := range []int{4, 6} {
		if at := host.LocalRuleMoved(rules, family); at != 0 {
			out = append(out, Found{Key: graph.MakeKey(KindRule, fmt.Sprintf("ipv%d %d lookup local", family, at)), What: "back to priority 0",
				remove: func(ctx context.Context, h *host.Host) error { return h.RestoreLocalRule(ctx) }})
		}
	}
	return out, nil
}
