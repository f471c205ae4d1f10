package main

import (
	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore"
)

func signCommand(f *flags, s streams) *cobra.Command {
	var p publishing
	cmd := &cobra.Command{
		Use:   "sign DEST",
		Short: "Sign what is published, as it is",
		Long: `sign adds a signature to the manifest that is published in DEST, in the place of an
older one of the same key. What it says stays, and so does its sha256. Verify
first: you vouch for it.`,
		Example: `  agent store verify s3://bucket/prefix --cluster demo.example.com && \
  agent store sign s3://bucket/prefix --cluster demo.example.com --key next.key`,
		Args: oneArg("where it is published", "agent store sign s3://bucket/prefix --key netwright.key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := p.private()
			if err != nil {
				return err
			}
			if key == nil {
				return problem.Usage.Errorf("sign needs a key: give --key; `agent store keygen` makes one")
			}
			options, err := f.publisherOptions()
			if err != nil {
				return err
			}
			dest, clusters, err := clustersOf(f, args[0])
			if err != nil {
				return err
			}
			for _, cluster := range clusters {
				to, err := statestore.OpenSink(dest, cluster, options)
				if err != nil {
					return err
				}
				done, err := statestore.Sign(cmd.Context(), to, cluster, *key)
				if err != nil {
					return err
				}
				if err := f.printPublished(s, done, "signed"); err != nil {
					return err
				}
			}
			return nil
		},
	}
	p.addKey(cmd)
	return cmd
}
