package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/control"
)

func confirmCommand(f *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "confirm",
		Short: "Keep a change that was made with --once --confirm",
		Long: `confirm keeps the change that --once --confirm made. Without it the
change is undone when its time is over, even if the agent is killed. A reboot before
that undoes it too.

confirm counts only from a login that began after the change, because it proves that
you can still log in. Open a new ssh session, or log in at the console, and run it there.`,
		Example: `  agent --once --confirm 2m              in the login that you have
  ssh NODE sudo agent confirm            in a new one`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.Local().Session().MayConfirm(cmd.Context()); err != nil {
				return err
			}
			end := cli.NewDisplay(f).Do(cmd.Context(), control.Request{Command: control.Confirm})
			if end.Err == nil {
				fmt.Fprintln(f.Out, end.Text)
			}
			return end.Err
		},
	}
}
