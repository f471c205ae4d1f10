package main

import (
	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
)

func storeCommand(f *cli.Flags) *cobra.Command {
	cmd := &cobra.Command{Use: "store", Short: "Work with a state store", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(checkCommand(f), publishCommand(f), signCommand(f), pruneCommand(f), verifyStoreCommand(f),
		storeHistoryCommand(f), storeDiffCommand(f), vendorCommand(f), keygenCommand(f))
	return cmd
}
