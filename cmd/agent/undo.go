package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/cli/prober"
	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile"
)

// undoLimit ends an undo that hangs; systemd then starts it again. An undo needs less time than
// that.
const undoLimit = 15 * time.Minute

// undoCommand runs from the timer, at boot, and by hand by a person who does not want to wait. It
// needs only the checkpoint's own directory, neither the agent's file nor the store.
func undoCommand(f *cli.Flags) *cobra.Command {
	check, watch := false, false
	cmd := &cobra.Command{
		Use:   "undo",
		Short: "Undo now a change that awaits its confirmation",
		Long: `undo restores at once what was before a change that awaits agent confirm. Without it the
change is undone when its time is over, or at the next boot.

Exit code: 0 undone, or nothing was to be undone; 1 error.`,
		Example: `  agent undo`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			level := zapcore.WarnLevel
			if cli.ToJournal(f.Err) {
				level = zapcore.DebugLevel
			}
			p := reconcile.Pass{Host: host.Options{Root: "/"}, Log: cli.Logger(f.Err, "", level),
				Checkpoint: checkpoint.Settings{Means: prober.Means(nil)}}
			if check {
				return p.Session().CheckUndo()
			}
			if err := cli.RefuseOtherNetwork(p.Host); err != nil {
				return err
			}
			if watch {
				_, err := p.Session().Undo(cmd.Context(), true)
				return err
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), undoLimit,
				fmt.Errorf("undo: not done within %s", undoLimit))
			defer cancel()
			v, err := p.Session().Undo(ctx, false)
			if err == nil {
				fmt.Fprintln(f.Out, undone(v))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only say whether it could be done, and change nothing")
	cmd.Flags().BoolVar(&watch, "watch", false,
		"watch a change that was good, and take it back if it costs the node its network later")
	for _, name := range []string{"check", "watch"} { // for the agent's own units
		cmd.Flags().Lookup(name).Hidden = true
	}
	return cmd
}

// undone returns a text of what an undo has done.
func undone(v *checkpoint.Verdict) string {
	if v == nil {
		return "no change awaits its confirmation: there is nothing to take back"
	}
	return generation.Name(v.Generation, v.Digest) + " was taken back: " + v.Why
}
