package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
)

// waitPause is the time between two looks of --once --wait.
const waitPause = 2 * time.Second

// maxPasses bounds --once: what changes under our hands for so long is somebody else's doing.
const maxPasses = 3

func runDryRun(ctx context.Context, f *flags, s streams) error {
	w, err := f.wire(zap.NewNop())
	if err != nil {
		return err
	}
	d, err := w.desired(ctx, s)
	if err != nil {
		return err
	}
	w.pass.ForceRepair = true // as --once would
	plan, planErr := w.pass.DryRun(ctx, d)
	if plan == nil {
		return planErr
	}
	if err := f.printPlan(s, plan); err != nil {
		return err
	}
	switch {
	case planErr != nil:
		return exit(exitError) // the plan says what failed
	case w.unused != nil:
		return w.unused
	case plan.Summary.Changes() > 0,
		plan.Switch != nil && plan.Switch.Blocked != "": // the documents are not what the node has
		return exit(exitChanges)
	}
	return nil
}

// desired loads what the store wants, or wanted last. A node that is held at a revision does
// without.
func (w *wired) desired(ctx context.Context, s streams) (*desired.State, error) {
	d, why, err := w.documents(ctx)
	switch {
	case why != nil && w.pass.Session().Pinned():
		fmt.Fprintf(s.err, "agent: %v; going on, for the node is held at a revision\n", why)
		return nil, nil
	case err == nil:
		w.unused = why
	}
	return d, err
}

func (f *flags) printPlan(s streams, plan *report.Plan) error {
	if !f.text() {
		return f.data(s, plan)
	}
	return report.Text(s.out, plan, report.TextOptions{Color: isTerminal(s.out), Diffs: true})
}

func runOnce(ctx context.Context, f *flags, s streams) error {
	if err := f.readConf(); err != nil {
		return err
	}
	p := newProgress(f, s, false)
	req := control.Request{Command: control.Once, Verify: f.verify, Target: f.target(), AllowDisruptive: f.disruptive,
		AcceptOlder: f.trust.older}
	if f.confirm > 0 {
		req.Command, req.For = control.OnceConfirmed, f.confirm
	}
	var here func(context.Context, reconcile.Hooks) ending
	return f.converge(ctx, p, func(ctx context.Context) ending {
		return f.viaDaemon(ctx, s, p, req, func(ctx context.Context, h reconcile.Hooks) ending {
			if here == nil { // not before it is known that no daemon runs: it may be held, and without a store
				w, err := f.wire(zap.NewNop())
				if err != nil {
					return ending{err: err}
				}
				here = w.passes(s)
			}
			return here(ctx, h)
		})
	})
}

// passes makes passes in this process, with the documents as they are at the first.
func (w *wired) passes(s streams) func(context.Context, reconcile.Hooks) ending {
	var d *desired.State
	loaded := false
	return func(ctx context.Context, h reconcile.Hooks) ending {
		if !loaded {
			if _, err := w.pass.Session().Recover(ctx); err != nil { // also where the store cannot be read
				fmt.Fprintln(s.err, "agent: warning:", err)
			}
			if err := w.pass.Session().FirstBoot(ctx); err != nil {
				return ending{err: err}
			}
			var err error
			if d, err = w.desired(ctx, s); err != nil {
				return ending{err: err}
			}
			loaded = true
		}
		pass := w.pass
		pass.Hooks, pass.TakeNow, pass.ForceRepair = h, currentUser(), true
		end := endingOf(pass.Converge(ctx, d))
		end.besides = errors.Join(end.besides, w.unused)
		return end
	}
}

// converge makes passes until all is right, or only time can help.
func (f *flags) converge(ctx context.Context, p *progress, pass func(context.Context) ending) error {
	deadline := time.Now().Add(f.wait)
	var earlier report.Plan
	for passes := 1; ; passes++ {
		end := pass(ctx)
		p.end()
		if end.plan != nil {
			end.plan.AddRound(&earlier)
			earlier = *end.plan
		}
		switch {
		case end.plan == nil:
			return end.err
		case end.plan.Awaits != nil: // nothing more is changed before
		case end.err != nil && passes < maxPasses && end.again:
			continue
		case end.err == nil && end.plan.Summary.Waiting > 0 && time.Now().Before(deadline):
			p.waiting(end.plan)
			if !host.Sleep(ctx, waitPause) {
				return fmt.Errorf("wait: %w", context.Cause(ctx))
			}
			continue
		}
		if err := p.result(end.plan); err != nil {
			return err
		}
		switch {
		case end.besides != nil: // the plan does not tell it
			return end.besides
		case end.err != nil:
			return exit(exitError)
		case end.plan.Summary.Waiting > 0 && f.wait > 0:
			return exit(exitWaiting)
		}
		return nil
	}
}
