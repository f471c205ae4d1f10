package main

import (
	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli/prober"
)

// provePodsCommand runs [prober.MakeProof] in its transient service; it is no command for people.
// It needs neither documents nor the store, which a change may have cut off. It uses the CNI conf
// and the plugins that the container runtime uses.
func provePodsCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "prove-pods",
		Short:  "Make a checkpoint's proof with pods",
		Args:   noArgs,
		Hidden: true,
		RunE:   func(cmd *cobra.Command, _ []string) error { return prober.MakeProof(cmd.Context()) },
	}
}
