package main

import (
	"context"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/report"
)

func (o *runOptions) runDryRun(ctx context.Context) error {
	w, err := o.open(zap.NewNop())
	if err != nil {
		return err
	}
	d, unused, err := o.desired(ctx, w)
	if err != nil {
		return err
	}
	w.Pass.ForceRepair = true // as --once would
	plan, planErr := w.Pass.DryRun(ctx, d)
	if plan == nil {
		return planErr
	}
	if err := o.f.Plan(plan, report.TextOptions{Diffs: true}); err != nil {
		return err
	}
	switch {
	case planErr != nil:
		return cli.ExitError // the plan says what failed
	case unused != nil:
		return unused
	case plan.Summary.Changes() > 0,
		plan.Switch != nil && plan.Switch.Blocked != "": // the documents are not what the node has
		return cli.ExitChanges
	}
	return nil
}
