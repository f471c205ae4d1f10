package main

import (
	"context"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
)

// desired loads what the store wants, or wanted last. A node that is held at a revision does
// without.
func (w *wired) desired(ctx context.Context, s streams) (*desired.State, error) {
	d, why, err := w.documents(ctx)
	switch {
	case why != nil && w.pass.Session().Held():
		fmt.Fprintf(s.err, "agent: %v; going on, for the node is held at a revision\n", why)
		return nil, nil
	case err == nil:
		w.unused = why
	}
	return d, err
}

// converge makes passes until all is right, or only time can help.
func (f *flags) converge(ctx context.Context, p *progress, pass func(context.Context) ending) error {
	deadline := time.Now().Add(f.wait)
	var earlier report.Plan
	for passes := 1; ; passes++ {
		end := pass(ctx)
		p.end()
		if end.plan != nil {
			end.plan.After(&earlier)
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
			if err := sleep(ctx, waitPause); err != nil {
				return err
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
