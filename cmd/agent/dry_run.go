package main

import (
	"context"

	"go.uber.org/zap"
)

func runDryRun(ctx context.Context, f *flags, s streams) error {
	w, err := f.wire(zap.NewNop())
	if err != nil {
		return err
	}
	d, err := w.desired(ctx, s)
	if err != nil {
		return err
	}
	w.pass.Afresh = true // as --once would
	plan, planErr := w.pass.DryRun(ctx, d)
	if plan == nil {
		return planErr
	}
	if err := f.print(s, plan); err != nil {
		return err
	}
	switch {
	case planErr != nil:
		return exit(exitError) // the plan says what failed
	case w.unused != nil:
		return w.unused
	case plan.Summary.Changes() > 0,
		plan.Switch != nil && plan.Switch.Held != "": // the documents are not what the node has
		return exit(exitChanges)
	}
	return nil
}
