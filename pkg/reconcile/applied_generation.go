package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
)

// The applied configuration is that of the last pass that ended right. It is kept on the disk, so
// that a restart of the daemon does not forget it. What the store has, and what the daemon works
// towards, may be newer.

// noting makes of a pass one that notes which configuration it has applied.
func noting(ctx context.Context, do session.Action) session.Action {
	return func(h *host.Host, led *ledger.Ledger) (*report.Plan, error) {
		plan, err := do(h, led)
		if plan == nil {
			return nil, err
		}
		return plan, errors.Join(err, noteApplied(ctx, plan, err, h))
	}
}

// noteApplied puts into a plan which configuration is applied once its pass has ended so, and on
// the disk where that is another one than before.
func noteApplied(ctx context.Context, plan *report.Plan, ended error, h *host.Host) error {
	was, _ := ledger.ReadApplied(h.Live.Files) // a damaged one is as good as none
	plan.Applied = history.AppliedOf(was)
	now := &ledger.Applied{Generation: plan.Generation, Digest: plan.Digest,
		Time: time.Now().UTC().Truncate(time.Second)}
	if ended != nil || plan.Digest == "" || !appliedWhole(plan) || plan.Applied.Is(history.AppliedOf(now)) {
		return nil
	}
	if err := ledger.SaveApplied(context.WithoutCancel(ctx), h.Files, now); err != nil {
		return err
	}
	plan.Applied = history.AppliedOf(now)
	return nil
}

// appliedWhole says of a plan without errors that nothing of it was put off.
func appliedWhole(plan *report.Plan) bool {
	if plan.Paused != nil || plan.Awaits != nil {
		return false
	}
	for i := range plan.Steps {
		if s := &plan.Steps[i]; s.State == report.Planned || s.State == report.Stopped ||
			strings.HasPrefix(s.Key, "switch:") {
			return false
		}
	}
	return true
}

// noteForward remembers, where the node was at a revision before and the next was to have a number,
// that a generation brought back what a kept revision has: it is at that one again, and no new one
// says when and by which generation.
func noteForward(
	ctx context.Context, s session.Session, h *host.Host, led *ledger.Ledger, before, next int, plan *report.Plan,
) {
	now := led.Head().Current
	if plan == nil || before == 0 || now == before || now >= next || led.Head().Pin != nil {
		return
	}
	s.Note(ctx, h, ledger.OperatorAction{Act: ledger.Forward, Revision: now, Generation: plan.Generation,
		Text: fmt.Sprintf("%s wants what revision %d has", generation.Name(plan.Generation, plan.Digest), now)})
}
