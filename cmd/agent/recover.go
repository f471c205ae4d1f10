package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/reconcile"
)

// recoverCommand completes a batch of files that a killed run left unfinished. systemd runs it at
// boot, before any program reads the files; people run it on an image (--root).
func recoverCommand(f *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "recover",
		Short: "Complete files that belong together, of a run that was killed",
		Long: `recover completes what a killed run left partly old and partly new of files that
belong together, as a key and its certificate. It needs no store. The agent does
the same when it starts; this is for the boot, before anybody reads the files.`,
		Args:   noArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := reconcile.Pass{Host: f.Host, Log: cli.Logger(f.Err, "", zapcore.DebugLevel)}
			n, err := p.Session().Recover(cmd.Context())
			if err == nil && n > 0 {
				fmt.Fprintf(f.Out, "completed: %d\n", n)
			}
			return err
		},
	}
}
