package main

import (
	"context"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/reconcile"
)

func applyCommand(f *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "apply FILE",
		Short: "Make the change of a plan that agent plan --out wrote, and no other",
		Long: `apply makes the change that the plan in FILE shows, in one pass, and no other. If the
host or the store changed since the plan was made, apply names the difference and
changes nothing. The flags of the plan apply. If a daemon runs, the daemon makes the
change.

Exit code: 0 the change is made, or nothing was to do; 1 refused, or an error.`,
		Example: `  agent plan --out change.plan
  agent apply change.plan`,
		Args: oneArg("the file of a plan", "agent apply change.plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return (&runOptions{f: f}).runApply(cmd.Context(), args[0])
		},
	}
}

func (o *runOptions) runApply(ctx context.Context, path string) error {
	file, err := readPlan(path)
	if err != nil {
		return err
	}
	if err := o.f.Read(); err != nil {
		return err
	}
	o.disruptive, o.f.Trust.Older = file.AllowDisruptive, file.AcceptOlder
	intent := file.Plan.Intent()
	req := control.Request{Command: control.Once, Target: o.f.Target(), AllowDisruptive: o.disruptive,
		AcceptOlder: file.AcceptOlder, Agreed: intent}
	o.dryRun = true
	now, unused, err := o.wouldChange(ctx)
	o.dryRun = false
	switch {
	case now == nil:
		return err
	case unused != nil:
		return unused
	}
	if why := file.Plan.Stale(now); why != "" {
		return problem.PlanStale.Errorf("nothing was changed: %s: make the plan anew with `agent plan --out %s`", why,
			path)
	}
	d := cli.NewDisplay(o.f)
	return d.Show(d.Ask(ctx, req, func(ctx context.Context, h reconcile.Hooks) cli.Ended {
		w, err := o.open(zap.NewNop())
		if err != nil {
			return cli.Ended{Err: err}
		}
		w.Pass.Agreed = intent
		return o.passes(w)(ctx, h)
	}))
}
