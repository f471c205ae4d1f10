package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/control"
)

func resumeCommand(f *cli.Flags) *cobra.Command {
	apply := false
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Let the node follow the store again after a rollback or a pause",
		Long: `resume ends a pause, and lets the node follow the store again after a rollback. With
--apply it also applies, now and on this node, a changed configuration that waits
because of spec.update.`,
		Example: `  agent resume                           end a pause, follow the store again
  agent resume --apply                   and apply now what waits`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			end := cli.NewDisplay(f).Do(cmd.Context(), control.Request{Command: control.Resume})
			next := "from now on the daemon follows the store again"
			if end.Here {
				next = "from the next run on it follows the store again (now: agent --once)"
			}
			say := f.Out
			if !f.Text() { // stdout has the data of what was applied
				say = f.Err
			}
			switch {
			case end.Err != nil:
				return end.Err
			case end.Text == "":
				fmt.Fprintln(say, "the node is not held and not paused; it follows the store")
			default:
				fmt.Fprintf(say, "the node was %s; %s\n", end.Text, next)
			}
			if apply {
				o := runOptions{f: f}
				return o.runOnce(cmd.Context())
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "take now what waits by spec.update, as --once does")
	return cmd
}
