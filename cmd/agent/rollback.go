package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/reset"
)

func rollbackCommand(f *flags, s streams) *cobra.Command {
	endPause := false
	cmd := &cobra.Command{
		Use:   "rollback [N]",
		Short: "Apply an earlier revision again and hold the node there",
		Long: `rollback applies revision N (default: the one before the current; see history)
as it was, without the store, and holds the node there: the daemon and --once
keep it until resume. A paused node is left as it is, unless --end-pause ends the
pause: resume would take what the store has first.`,
		Example: `  agent rollback                         the revision before; held there until: agent resume
  agent rollback 12                      this one of: agent history
  agent rollback --end-pause             on a paused node
  agent rollback -o json`,
		Args: atMostOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			number := 0
			if len(args) == 1 {
				var err error
				if number, err = strconv.Atoi(args[0]); err != nil || number < 1 {
					return fmt.Errorf("roll back to %q: expected the number of a revision, as `agent history` lists "+
						"them", args[0])
				}
			}
			req := control.Request{Command: control.Rollback, Revision: number, AllowDisruptive: f.disruptive,
				EndPause: endPause}
			return f.show(cmd.Context(), s, req, func(ctx context.Context, h reconcile.Hooks) (*report.Plan, error) {
				pass := f.localThatChanges()
				pass.Hooks, pass.EndPause = h, endPause
				return pass.Rollback(ctx, number)
			})
		},
	}
	f.addDisruptive(cmd)
	cmd.Flags().BoolVar(&endPause, "end-pause", false, "end a pause, and hold the node at the revision")
	return cmd
}

func resumeCommand(f *flags, s streams) *cobra.Command {
	apply := false
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Let the node follow the store again after a rollback or a pause",
		Long: `resume ends a pause, and lets the node follow the store again after a rollback. With
--apply it also takes now, on this node, a changed configuration that waits by
spec.update.`,
		Example: `  agent resume                           end a pause, follow the store again
  agent resume --apply                   and take now what waits`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, next := newProgress(f, s, false), "from now on the daemon follows the store again"
			end := f.viaDaemon(cmd.Context(), s, p, control.Request{Command: control.Resume},
				func(ctx context.Context, h reconcile.Hooks) ending {
					next = "from the next run on it follows the store again (now: agent --once)"
					pass := f.local()
					pass.Hooks = h
					was, err := pass.Session().Resume(ctx)
					return ending{text: was, err: err}
				})
			switch {
			case end.err != nil:
				return end.err
			case end.text == "":
				fmt.Fprintln(s.out, "the node is not held and not paused; it follows the store")
			default:
				fmt.Fprintf(s.out, "the node was %s; %s\n", end.text, next)
			}
			if apply {
				return runOnce(cmd.Context(), f, s)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "take now what waits by spec.update, as --once does")
	return cmd
}

func resetCommand(f *flags, s streams) *cobra.Command {
	dry, changed := false, policy.Keep
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Take everything of netwright's off this node and bring back what was there before",
		Long: `reset stops and disables the daemon, removes what netwright made, and brings back
what it changed: files with owner, mode and times, sysctls, units. It does not
bring back a former CNI conf, and modules stay loaded until the next boot. What a
person changed meanwhile stays, and is named; --changed=remove takes it along, or
brings back what was there before. What the node may be reached by goes first, and
comes back by itself if the node is cut off (see probes in the agent's file).`,
		Example: `  agent reset --dry-run                  what would go, and what would come back
  agent reset
  agent reset --changed remove           also what somebody changed since`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := reset.Reset{Session: f.localThatChanges().Session(), RemoveChanged: changed == policy.Remove}
			switch changed {
			case policy.Keep, policy.Remove:
			default:
				return problem.Usage.Errorf("--changed %q: expected keep or remove", changed)
			}
			if !dry {
				p := newProgress(f, s, false)
				hooks := p.hooks()
				r.Session.Progress, r.Hooks, r.OnPlan = hooks.Progress, hooks.Hooks, hooks.OnPlan
				outlivePipe()
				return p.shows(endingOf(r.Run(cmd.Context())))
			}
			plan, err := r.Plan(cmd.Context())
			if err != nil {
				return err
			}
			if err := f.printPlan(s, plan); err != nil {
				return err
			}
			if plan.Summary.Changes() > 0 {
				return exit(exitChanges)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&changed, "changed", changed,
		"what becomes of things of ours that somebody changed meanwhile: keep or remove")
	cmd.Flags().BoolVar(&dry, "dry-run", false,
		"show what would go and what would come back: exit 0 nothing, 2 changes, 1 error")
	return cmd
}
