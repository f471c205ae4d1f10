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
		Long: `recover completes files that belong together, such as a key and its certificate, if a
killed run wrote only some of them. It needs no store. The agent does the same when it
starts. At a boot, recover runs before any program reads the files.`,
		Args:   noArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.RefuseOtherNetwork(f.Host); err != nil {
				return err
			}
			p := reconcile.Pass{Host: f.Host, Log: cli.Logger(f.Err, "", zapcore.DebugLevel)}
			n, err := p.Session().Recover(cmd.Context())
			if err == nil && n > 0 {
				fmt.Fprintf(f.Out, "completed: %d\n", n)
			}
			return err
		},
	}
}
