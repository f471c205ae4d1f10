package rtnl

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

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
