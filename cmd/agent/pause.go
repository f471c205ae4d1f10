package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/reconcile/session"
)

func pauseCommand(f *cli.Flags) *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use:   "pause DURATION --reason TEXT",
		Short: "Change nothing on this node for a while",
		Long: `During a pause the daemon, --once and rollback change nothing on this node. They make
no repair and apply no new configuration. Passes still look, and report what is not as
wanted. The pause ends by itself, even after a boot or with a wrong clock. resume ends
it earlier. A second pause replaces the first.`,
		Example: `  agent pause 30m --reason "swapping the uplink, INC-123"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("pause takes one argument, how long, such as 30m, and got %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := time.ParseDuration(args[0])
			if err != nil {
				return fmt.Errorf("pause for %q: expected a time up to %s, such as 30m", args[0], session.MaxPause)
			}
			req := control.Request{Command: control.Pause, For: d, Reason: reason}
			end := cli.NewDisplay(f).Do(cmd.Context(), req)
			if end.Err == nil {
				fmt.Fprintf(f.Out, "the node is %s; `agent resume` ends it\n", end.Text)
			}
			return end.Err
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for people who look at this node")
	return cmd
}
