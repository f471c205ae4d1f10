package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/control"
)

func rollbackCommand(f *cli.Flags) *cobra.Command {
	var disruptive, endPause bool
	cmd := &cobra.Command{
		Use:   "rollback [N]",
		Short: "Apply an earlier revision again and hold the node there",
		Long: `rollback applies revision N as it was, without the store. The default is the revision
before the current one; agent history lists them. The daemon and --once then hold the
node at this revision until resume.

rollback refuses a paused node. --end-pause ends the pause first. Do not end it with
resume: the node would first apply what the store has.`,
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
			req := control.Request{Command: control.Rollback, Revision: number, AllowDisruptive: disruptive,
				EndPause: endPause}
			d := cli.NewDisplay(f)
			return d.Show(d.Do(cmd.Context(), req))
		},
	}
	addDisruptive(cmd, &disruptive)
	cmd.Flags().BoolVar(&endPause, "end-pause", false, "end a pause, and hold the node at the revision")
	return cmd
}
