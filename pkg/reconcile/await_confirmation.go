package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
)

// await arranges that the change of the pass is undone unless somebody confirms it. The caller
// calls it before the guard finishes. It returns the error for which the guard must undo the
// change: late, or why the change cannot wait for a confirmation.
func (o *outcome) await(ctx context.Context, p Pass, h *host.Host, late error) error {
	g := o.guard
	if p.ConfirmWithin == 0 || g == nil || !g.Armed || late != nil {
		return late
	}
	a := checkpoint.Awaits{By: cmp.Or(p.TakeNow, p.Session().Maker()), For: p.ConfirmWithin}
	if changes.Failure(changes.Allowed(o.wanted.Rep)) == nil {
		var err error
		a.Set, a.New, err = o.plan.ownership.Prepare(ctx, h, ownership.Ending{By: a.By, Desired: o.plan.desired,
			Proof: g.Proof()})
		if err != nil {
			return fmt.Errorf("have the change await its confirmation: %w", err)
		}
	}
	o.awaits = true
	g.Await(a)
	return nil
}

// noteAwaits writes into the plan whether the change waits for its confirmation. It does so only
// for a pass that was asked for with a confirmation.
func noteAwaits(confirm time.Duration, plan *report.Plan, r host.FileReader) *report.Plan {
	if confirm == 0 {
		return plan
	}
	switch plan.Awaits = history.Awaits(r); plan.Awaits {
	case nil:
		plan.Notes = append(plan.Notes, report.Info(
			"nothing was changed that an undo takes back: there is nothing to confirm"))
	default:
		plan.Warn(plan.Awaits.String() + ", and is undone then: " + session.LogInAnew)
	}
	return plan
}

// mayAwait refuses a confirmation on a host without systemd, because nothing else there would undo
// a change that nobody confirms.
func mayAwait(confirm time.Duration, h *host.Host) error {
	if confirm > 0 && h.Live.Facts.Init != "systemd" {
		return errors.New("nothing was changed: --confirm needs systemd, which undoes a change that is not " +
			"confirmed in time")
	}
	return nil
}
