package main

import (
	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/reset"
)

func resetCommand(f *cli.Flags) *cobra.Command {
	dry, changed := false, policy.Keep
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Take away what netwright made on this node and bring back what was there before",
		Long: `reset stops and disables the daemon, removes what the agent made, and restores what it
changed: files with owner, mode and times, sysctls, units. It does not restore a former
CNI conf. Modules stay loaded until the next boot.

reset keeps and names what somebody changed meanwhile. --changed=remove removes that
too, or restores what was there before. reset begins with what the node may be reached
by, and restores it if the node is cut off (see probes in the agent's file).

The agent's own program, units, manual and completions stay. To remove them, remove the
package, or run ` + "`agent install --remove`" + `.`,
		Example: `  agent reset --dry-run                  what would be removed and restored
  agent reset
  agent reset --changed remove           also what somebody changed since`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if changed != policy.Keep && changed != policy.Remove {
				return problem.Usage.Errorf("--changed %q: expected keep or remove", changed)
			}
			r := reset.Reset{Session: f.LocalThatChanges().Session(), RemoveChanged: changed == policy.Remove}
			if !dry {
				if err := cli.RefuseOtherNetwork(f.Host); err != nil {
					return err
				}
				d := cli.NewDisplay(f)
				hooks := d.Hooks()
				r.Session.Progress, r.Hooks, r.OnPlan = hooks.Progress, hooks.Hooks, hooks.OnPlan
				cli.OutlivePipe()
				return d.Show(cli.EndedWith(r.Run(cmd.Context())))
			}
			plan, err := r.Plan(cmd.Context())
			if err != nil {
				return err
			}
			if err := f.Plan(plan, report.TextOptions{Diffs: true}); err != nil {
				return err
			}
			if plan.Summary.Changes() > 0 {
				return cli.ExitChanges
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&changed, "changed", changed,
		"what to do with things of the agent that somebody changed meanwhile: keep or remove")
	cmd.Flags().BoolVar(&dry, "dry-run", false,
		"show what would go and what would come back: exit 0 nothing, 2 changes, 1 error")
	return cmd
}
