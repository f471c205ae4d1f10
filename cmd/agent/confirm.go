package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/reconcile"
)

func confirmCommand(f *flags, s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "confirm",
		Short: "Keep a change that was made with --once --confirm",
		Long: `confirm keeps the change that --once --confirm made. Without it the change is undone
when its time is over, also if the agent is killed, and by a reboot before. It counts
only from a login that began after the change: that one can log in is what it proves.
Open a new ssh session, or log in at the console, and run it there.`,
		Example: `  agent --once --confirm 2m              in the login that you have
  ssh NODE sudo agent confirm            in a new one`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.local().Session().MayConfirm(cmd.Context()); err != nil {
				return err
			}
			p := newProgress(f, s, false)
			here := func(ctx context.Context, h reconcile.Hooks) ending {
				pass := f.localThatChanges()
				pass.Hooks = h
				kept, err := pass.Confirm(ctx)
				return ending{text: kept, err: err}
			}
			end := f.viaDaemon(cmd.Context(), s, p, control.Request{Command: control.Confirm}, here)
			if end.err == nil {
				fmt.Fprintln(s.out, end.text)
			}
			return end.err
		},
	}
}

// checkConfirm refuses --confirm where nobody could confirm, or nothing would undo.
func (f *flags) checkConfirm() error {
	switch {
	case !f.once:
		return errors.New("--confirm needs --once: a change by hand is what a person confirms")
	case f.wait != 0:
		return errors.New("--confirm and --wait exclude each other: nothing more is done " +
			"until the change is confirmed; then run --once --wait")
	case f.root != "/" || f.sandbox:
		return errors.New("--confirm is for a host that runs: an image or a sandbox cuts nobody off")
	case f.confirm < reconcile.MinConfirm || f.confirm > reconcile.MaxConfirm:
		return fmt.Errorf("--confirm %s: expected from %s to %s, such as 2m",
			f.confirm, reconcile.MinConfirm, reconcile.MaxConfirm)
	}
	return nil
}
