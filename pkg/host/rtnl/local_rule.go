package rtnl

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// OfMachine reports whether the host itself needs a rule: the rules for local addresses, and the
// rules without a selector for the tables main and default.
func (r Rule) OfMachine() bool {
	return r.Table == unix.RT_TABLE_LOCAL ||
		r.unselective() && (r.Table == MainTable || r.Table == unix.RT_TABLE_DEFAULT)
}

// DelUnmanagedRule removes a policy rule that a network left, exactly as it was read; a missing
// rule is success. It refuses rules that the host itself needs ([Rule.OfMachine]). It may be
// retried.
func (w *Writer) DelUnmanagedRule(ctx context.Context, r Rule) error {
	if r.OfMachine() {
		return fmt.Errorf("remove policy rule %d for table %d: the host's own replies use this rule", r.Priority, r.Table)
	}
	rt, err := w.net.rt(ctx)
	if err != nil {
		return err
	}
	return w.removeRule(rt, r, "policy rule of another removed")
}

// ForAll reports whether a rule matches all packets.
func (r Rule) ForAll() bool { return !r.Narrow && r.unselective() }

// unselective reports whether none of the selectors in Rule is set. Narrow is not looked at.
func (r Rule) unselective() bool {
	return !r.Src.IsValid() && !r.Dst.IsValid() && r.IIF == "" && r.OIF == "" && r.Mark == 0 && r.Mask == 0
}

// LocalRulePriority returns the priority of a family's (4 or 6) rule for local addresses if a
// network has moved it from 0. It returns 0 if the rule is at 0, as the kernel creates it.
func LocalRulePriority(rules []Rule, family int) int {
	moved := 0
	for _, r := range rules {
		if r.Family != family || r.Table != unix.RT_TABLE_LOCAL || !r.unselective() {
			continue
		}
		if r.Priority == 0 {
			return 0
		}
		moved = r.Priority
	}
	return moved
}

// RestoreLocalRule moves the rule for local addresses back to priority 0. It adds the rule at 0
// before it removes the one that a network moved: without any such rule the host receives no
// packets for its own addresses. It may be retried.
func (w *Writer) RestoreLocalRule(ctx context.Context) error {
	rules, err := w.net.Rules(ctx)
	if err != nil {
		return fmt.Errorf("restore the rule for local addresses: %w", err)
	}
	for _, family := range []int{4, 6} {
		local := Rule{Family: family, Table: unix.RT_TABLE_LOCAL, Protocol: unix.RTPROT_KERNEL}
		if LocalRulePriority(rules, family) != 0 {
			if err := w.net.opened().RuleAdd(ruleTo(local)); err != nil && !errors.Is(err, unix.EEXIST) {
				return fmt.Errorf("restore the IPv%d rule for local addresses: %w", family, err)
			}
		}
		for _, r := range rules {
			if r.Family != family || r.Table != unix.RT_TABLE_LOCAL || r.Priority == 0 || !r.unselective() {
				continue
			}
			if err := w.net.opened().RuleDel(ruleTo(r)); err != nil && !errors.Is(err, unix.ENOENT) {
				return fmt.Errorf("take the IPv%d rule for local addresses from priority %d: %w", family, r.Priority,
					err)
			}
			sys.Changed(w.log, "rule for local addresses brought back", zap.Int("family", family),
				zap.Int("from", r.Priority))
		}
	}
	return nil
}
