package main

import (
	"context"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/report"
)

func (o *runOptions) runDryRun(ctx context.Context) error {
	plan, unused, planErr := o.wouldChange(ctx)
	if plan == nil {
		return planErr
	}
	if err := o.f.Plan(plan, report.TextOptions{Diffs: true}); err != nil {
		return err
	}
	switch {
	case planErr != nil:
		return cli.ExitError // the plan shows what failed
	case unused != nil:
		return unused
	}
	if o.out != "" {
		if err := o.save(ctx, plan); err != nil {
			return err
		}
	}
	if plan.Summary.Changes() > 0 ||
		plan.Switch != nil && plan.Switch.Blocked != "" { // the pass does not apply the documents
		return cli.ExitChanges
	}
	return nil
}

// wouldChange returns the plan of what --once would change; nil: there is none. unused says why the
// store's documents are not used. Where there is a plan, it shows the error too.
func (o *runOptions) wouldChange(ctx context.Context) (plan *report.Plan, unused, err error) {
	w, err := o.open(zap.NewNop())
	if err != nil {
		return nil, nil, err
	}
	d, unused, err := o.desired(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	w.Pass.ForceRepair = true // as in --once
	plan, err = w.Pass.DryRun(ctx, d)
	return plan, unused, err
}
