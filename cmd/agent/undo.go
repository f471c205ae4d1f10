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
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile"
)

// undoLimit is above what an undo takes, and ends one that hangs: it is then started anew.
const undoLimit = 15 * time.Minute

// undoCommand is for the timer and the boot, and no command for people: it
// needs nothing but the checkpoint's own directory, neither the agent's file nor the store.
func undoCommand(f *cli.Flags) *cobra.Command {
	check, watch := false, false
	cmd := &cobra.Command{
		Use:    "undo",
		Short:  "Take back a change that was not confirmed",
		Args:   noArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := reconcile.Pass{Host: host.Options{Root: "/"}, Log: cli.Logger(f.Err, "", zapcore.DebugLevel),
				Checkpoint: checkpoint.Settings{Means: prober.Means(nil)}}
			if check {
				return p.Session().CheckUndo()
			}
			if watch {
				return p.Session().Undo(cmd.Context(), true)
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), undoLimit,
				fmt.Errorf("undo: not done within %s", undoLimit))
			defer cancel()
			return p.Session().Undo(ctx, false)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only say whether it could be done, and change nothing")
	cmd.Flags().BoolVar(&watch, "watch", false,
		"watch a change that was good, and take it back if it costs the node its network later")
	return cmd
}
