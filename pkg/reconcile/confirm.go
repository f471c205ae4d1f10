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

// A change that awaits its confirmation is a pass that stands still before its end: the probes
// passed, the journal is there, and what the ledger said before is in it. So an undo is the same as
// of a pass that was killed. What the end of the pass would have written down is written when it is
// confirmed, by a pass towards the revision that was prepared.

// How long a change may be confirmed.
const (
	MinConfirm = 10 * time.Second // who comes in anew needs some
	MaxConfirm = session.MaxPause
)

// lookMeanwhile is the daemon's pass while a change awaits its confirmation: it tells what is not
// as wanted, and changes nothing. What waits for its turn besides is only named.
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

// Confirm keeps the change that awaits it, for whom [session.Session.MayConfirm] lets. It says what
// is kept. That not all of the pass can be brought to its end then is no error: the next one goes
// on with it.
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

// complete brings the pass to its end whose change was confirmed.
func (p Pass) complete(ctx context.Context, number int, h *host.Host, led *ledger.Ledger) error {
	if number == 0 {
		return errors.New("not all of it was made")
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
