package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/reconcile"
)

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
			end := f.beside(cmd.Context(), s, p, control.Request{Command: control.Resume},
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
