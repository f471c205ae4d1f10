package main

import (
	"aead.dev/minisign"
	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/publisher"
)

// signOptions are the flags of sign. Publish has them too.
type signOptions struct{ key, passwordFile string }

func signCommand(f *cli.Flags) *cobra.Command {
	var o signOptions
	cmd := &cobra.Command{
		Use:   "sign DEST",
		Short: "Sign what is published, as it is",
		Long: `sign adds a signature to the manifest that is published in DEST. It replaces an older
signature of the same key. The content of the manifest and its sha256 stay the same. Run
verify first, because your signature says that you trust the content.`,
		Example: `  agent store verify s3://bucket/prefix --cluster demo.example.com && \
  agent store sign s3://bucket/prefix --cluster demo.example.com --key next.key`,
		Args: oneArg("where it is published", "agent store sign s3://bucket/prefix --key netwright.key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := o.private()
			if err != nil {
				return err
			}
			if key == nil {
				return problem.Usage.Errorf("sign needs a key: give --key; `agent store keygen` makes one")
			}
			return eachPublished(f, args[0], func(at objectstore.Destination, cluster string) error {
				done, err := publisher.Sign(cmd.Context(), at, cluster, *key)
				if err != nil {
					return err
				}
				return printPublished(f, done, "signed")
			})
		},
	}
	o.bindKey(cmd)
	return cmd
}

func (o *signOptions) bindKey(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.key, "key", "",
		"`FILE` of the private key that signs, from agent store keygen or minisign -G")
	addPasswordFile(cmd, &o.passwordFile)
}

// private reads the key of --key; nil: none is named.
func (o *signOptions) private() (*minisign.PrivateKey, error) {
	if o.key == "" {
		return nil, nil
	}
	return readKey(o.key, o.passwordFile)
}
