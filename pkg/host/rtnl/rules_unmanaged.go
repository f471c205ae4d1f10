package rtnl

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// OfMachine says that the host answers by a rule: those for local addresses,
// and the main and the default table without a selector.
func (r Rule) OfMachine() bool {
	return r.Table == unix.RT_TABLE_LOCAL ||
		r.unselective() && (r.Table == MainTable || r.Table == unix.RT_TABLE_DEFAULT)
}

// DelUnmanagedRule removes a policy rule that a network left, exactly as it was read; absence is
// success. It refuses those that the host answers by ([Rule.OfMachine]). It may be retried.
func (w *Writer) DelUnmanagedRule(ctx context.Context, r Rule) error {
	if r.OfMachine() {
		return fmt.Errorf("remove policy rule %d for table %d: the host answers by it", r.Priority, r.Table)
	}
	rt, err := w.net.rt(ctx)
	if err != nil {
		return err
	}
	return w.removeRule(rt, r, "policy rule of another removed")
}

// ForAll says that a rule asks for nothing at all.
func (r Rule) ForAll() bool { return !r.Narrow && r.unselective() }

// unselective says that a rule matches all packets, whatever is not read of it.
func (r Rule) unselective() bool {
	return !r.Src.IsValid() && !r.Dst.IsValid() && r.IIF == "" && r.OIF == "" && r.Mark == 0 && r.Mask == 0
}

// LocalRulePriority says at which priority other than 0 a family (4 or 6) looks
// up its local addresses, as some networks make it; 0 where it is as the kernel made it.
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

// RestoreLocalRule brings the rule for local addresses back to priority 0, and
// only then takes it from where a network moved it: without one the host
// answers nobody. It may be retried.
func (w *Writer) RestoreLocalRule(ctx context.Context) error {
	rules, err := w.net.Rules(ctx)
	if err != nil {
		return fmt.Errorf("bring back the rule for local addresses: %w", err)
	}
	for _, family := range []int{4, 6} {
		local := Rule{Family: family, Table: unix.RT_TABLE_LOCAL, Protocol: unix.RTPROT_KERNEL}
		if LocalRulePriority(rules, family) != 0 {
			if err := w.net.opened().RuleAdd(ruleTo(local)); err != nil && !errors.Is(err, unix.EEXIST) {
				return fmt.Errorf("bring back the IPv%d rule for local addresses: %w", family, err)
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
