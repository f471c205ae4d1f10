package reconcile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
)

// A change that awaits its confirmation is a pass that stands still before its end: the probes
// passed, the journal is there, and what the ledger said before is in it. So an undo is the same as
// of a pass that was killed. What the end of the pass would have written down is written when it is
// confirmed, by a pass towards the revision that was prepared.

// How long a change may be confirmed.
const (
	MinConfirm = 10 * time.Second // who comes in anew needs some
	MaxConfirm = MaxPause
)

// Awaits says which change of the node awaits its confirmation; nil: none does, or it is not for
// this user to know.
func (p Pass) Awaits() *report.Awaits {
	files, err := host.OpenFiles(p.Host)
	if err != nil {
		return nil
	}
	defer files.Close() // only read from
	return history.Awaits(files)
}

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
	for i := range plan.Steps {
		if s := &plan.Steps[i]; s.State == report.Planned {
			s.State, s.Message = report.Drifted, "not changed while a change awaits its confirmation"
		}
	}
	plan.Finish(plan.Summary.Tasks)
	return plan, err
}

// MayConfirm says whether this process may confirm the change that awaits it: it must have been
// started from a login that began after the change, for only that proves that one can still log in.
func (p Pass) MayConfirm(ctx context.Context) error {
	view, err := host.OpenView(ctx, p.Host)
	if err != nil {
		return fmt.Errorf("look at the host: %w", err)
	}
	defer view.Close() // only read from
	j, err := checkpoint.Unconfirmed(view.Files)
	if err != nil {
		return err
	}
	if j == nil {
		return checkpoint.ErrNothingAwaits
	}
	login, err := host.LoginOf(ctx, view.View(), os.Getpid())
	if errors.Is(err, host.ErrNoLogin) {
		return fmt.Errorf("confirm only from a login: %w; %s", err, logInAnew)
	}
	if err != nil {
		return err
	}
	if login.Began > j.Awaits.Up {
		return nil
	}
	before := (j.Awaits.Up - login.Began).Round(time.Second)
	return fmt.Errorf("this login (%s) began %s before the change was made, so it does not prove "+
		"that one can still log in: open a new ssh session, or one at the console, and run "+
		"`agent confirm` there before %s", login.Name, before, stamp(j.Awaits.Until()))
}

// Confirm keeps the change that awaits it, for whom [Pass.MayConfirm] lets. It says what is kept.
// That not all of the pass can be brought to its end then is no error: the next one goes on with
// it.
func (p Pass) Confirm(ctx context.Context) (kept string, err error) {
	p.confirms = true
	_, err = p.locked(ctx, func(h *host.Host, led *ledger.Ledger) (*report.Plan, error) {
		j, err := checkpoint.Confirm(ctx, h)
		if j == nil {
			return nil, err
		}
		kept, p.confirmed = fmt.Sprintf("generation %d is confirmed, and stays", j.Generation), j.Proof()
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
	_, err = p.converge(ctx, d, h, led)
	return err
}
