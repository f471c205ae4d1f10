package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Rule is a policy rule. Its key has all of it: a rule with another selector or table is another
// rule.
type Rule struct {
	Meta
	rtnl.Rule
}

var (
	_ Task    = Rule{}
	_ Remover = Rule{}
	_ Claimer = Rule{}
)

// RuleKey is the key of a policy rule, in the syntax of ip rule.
func RuleKey(r rtnl.Rule) graph.Key {
	r = r.Canonical()
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	add("ipv%d %d", r.Family, r.Priority)
	if r.Src.IsValid() {
		add("from %s", r.Src)
	}
	if r.Dst.IsValid() {
		add("to %s", r.Dst)
	}
	if r.Mask != 0 {
		add("fwmark %#x/%#x", r.Mark, r.Mask)
	}
	if r.IIF != "" {
		add("iif %s", r.IIF)
	}
	if r.OIF != "" {
		add("oif %s", r.OIF)
	}
	add("lookup %d", r.Table)
	return graph.MakeKey(KindRule, strings.Join(words, " "))
}

// Owns implements [Task].
func (t Rule) Owns() []graph.Key { return []graph.Key{RuleKey(t.Rule)} }

// Plan implements [Task]. The same rule is right also where another program made it.
func (t Rule) Plan(ctx context.Context, v host.View) (*Change, error) {
	rules, err := v.Net.Rules(ctx)
	if errors.Is(err, host.ErrNoLiveState) {
		return notApplicable(t.Owns()[0], Create), nil
	}
	if err != nil {
		return nil, MarkTransient(err)
	}
	for _, r := range rules {
		if r.Same(t.Rule) {
			return nil, nil
		}
	}
	change := &Change{Items: []Item{{Key: t.Owns()[0], Op: Create}}, Reason: "absent"}
	if !t.Src.IsValid() && !t.Dst.IsValid() && t.Mark == 0 && t.Mask == 0 && t.IIF == "" {
		change.Disruption = MayCutOff // the rule applies to the node's own packets
	}
	return change, nil
}

// Apply implements [Task].
func (t Rule) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	return MarkTransient(h.Net.AddRule(ctx, t.Rule))
}

// Live implements [StateReader]. It returns the rule's protocol.
func (t Rule) Live(ctx context.Context, v host.View) (string, error) {
	rules, err := v.Net.Rules(ctx)
	if err != nil {
		return "", MarkTransient(err)
	}
	for _, r := range rules {
		if r.Same(t.Rule) {
			return fmt.Sprintf("proto %d", r.Protocol), nil
		}
	}
	return "", nil
}

// Unmanaged implements [Claimer].
func (t Rule) Unmanaged(live string) bool {
	return live != "" && live != fmt.Sprintf("proto %d", rtnl.RouteProtocol)
}

// Remove implements [Remover]. The host refuses to remove the rule for local addresses, and does
// not remove rules with another protocol.
func (t Rule) Remove(ctx context.Context, h *host.Host) error {
	return MarkTransient(h.Net.DelRule(ctx, t.Rule))
}
