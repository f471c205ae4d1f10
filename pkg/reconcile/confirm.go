package reconcile

import (
	"context"
	"errors"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
)

// A change that awaits its confirmation is a pass that stops before its end. Its probes passed. Its
// journal is kept, with what the ledger said before. So an undo does the same as for a pass that
// was killed. When somebody confirms the change, a pass towards the prepared revision writes what
// the end of the first pass would have written.

// These are the bounds of the time within which a change must be confirmed.
const (
	MinConfirm = 10 * time.Second // the person needs time for a new login
	MaxConfirm = session.MaxPause
)

// lookMeanwhile is the daemon's pass while a change awaits its confirmation. It reports what is not
// as wanted, and changes nothing. It only names a newer configuration that waits for its turn.
func (p Pass) lookMeanwhile(ctx context.Context, d *desired.State, a *report.Awaits) (*report.Plan, error) {
	plan, err := p.DryRun(ctx, d)
	if plan == nil {
		return nil, err
	}
	if plan.Awaits = a; plan.Digest != a.Digest {
		plan.Steps = nil
		plan.Waiting = &report.Waiting{
			Generation: plan.Generation, Digest: plan.Digest, Class: plan.Class,
			Reason: a.String(), Until: a.Until,
		}
		plan.Generation, plan.Digest = a.Generation, a.Digest
	}
	plan.Leave(report.Drifted, "not changed while a change awaits its confirmation")
	return plan, err
}

// Confirm keeps the change that awaits its confirmation, and returns what it kept. The caller asks
// [session.Session.MayConfirm] first. It is no error if the pass cannot be completed now: the next
// pass goes on with it.
func (p Pass) Confirm(ctx context.Context) (kept string, err error) {
	p.confirms = true
	_, err = p.Session().Locked(ctx, func(h *host.Host, led *ledger.Ledger) (*report.Plan, error) {
		j, err := checkpoint.Confirm(ctx, h)
		if j == nil {
			return nil, err
		}
		kept, p.confirmed = generation.Name(j.Generation, j.Digest)+" is confirmed, and stays", j.Proof()
		if err := errors.Join(err, p.complete(ctx, j.Awaits.Set, h, led)); err != nil {
			kept += "; the next pass goes on: " + desired.OneLine(err)
		}
		return nil, nil
	})
	return kept, err
}

// complete makes the rest of the pass whose change was confirmed. number is its prepared revision.
func (p Pass) complete(ctx context.Context, number int, h *host.Host, led *ledger.Ledger) error {
	if number == 0 {
		return errors.New("a part of the change was not made")
	}
	rev, err := ledger.ReadRevision(h.Live.Files, number)
	if err != nil {
		return err
	}
	d, err := desired.FromRevision(rev, h.Live.Files, p.Assets)
	if err != nil {
		return err
	}
	_, _, err = p.converge(ctx, d, h, led)
	return err
}
