package main

import (
	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli/prober"
)

// provePodsCommand is the service of [prober.MakeProof], and no command for people: it needs
// neither documents nor store, which a change may have cut off. The runtime says by which conf and
// plugins pods are added.
func provePodsCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "prove-pods",
		Short:  "Make a checkpoint's proof with pods",
		Args:   noArgs,
		Hidden: true,
		RunE:   func(cmd *cobra.Command, _ []string) error { return prober.MakeProof(cmd.Context()) },
	}
}
