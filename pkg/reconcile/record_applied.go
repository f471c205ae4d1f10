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

// The applied configuration is the one of the last pass that ended without an error and put nothing
// off. It is kept on the disk, so that a restart of the daemon does not lose it. The store may have
// a newer configuration, and the daemon may be working towards a newer one.

// noting wraps the action of a pass, so that it also saves which configuration the pass has
// applied.
func noting(ctx context.Context, do session.Action) session.Action {
	return func(h *host.Host, led *ledger.Ledger) (*report.Plan, error) {
		plan, err := do(h, led)
		if plan == nil {
			return nil, err
		}
		return plan, errors.Join(err, noteApplied(ctx, plan, err, h))
	}
}

// noteApplied writes into the plan which configuration is applied now that its pass has ended. If
// that is another one than before, it saves it on the disk. ended is the error of the pass.
func noteApplied(ctx context.Context, plan *report.Plan, ended error, h *host.Host) error {
	was, _ := ledger.ReadApplied(h.Live.Files) // a damaged note counts as none
	plan.Applied = history.AppliedOf(was)
	now := &ledger.Applied{Generation: plan.Generation, Digest: plan.Digest, Store: plan.Store,
		Time: time.Now().UTC().Truncate(time.Second)}
	if ended != nil || plan.Digest == "" || !appliedWhole(plan) {
		return nil
	}
	if plan.Applied.Is(history.AppliedOf(now)) {
		if was.Store == now.Store {
			return nil
		}
		now.Time = was.Time
	}
	if err := ledger.SaveApplied(context.WithoutCancel(ctx), h.Files, now); err != nil {
		return err
	}
	plan.Applied = history.AppliedOf(now)
	return nil
}

// appliedWhole reports whether a plan without errors put nothing off.
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

// noteForward adds to the history that a generation brought the node back to a kept revision. Such
// a pass makes no new revision, so nothing else would say when that was and which generation did
// it. before is the node's revision before the pass, next the number that a new revision would have
// had.
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
