package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/mirror"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/statestore/assets"
	"github.com/netwright/netwright/pkg/statestore/directory"
	"github.com/netwright/netwright/pkg/statestore/stores"
)

func vendorCommand(f *cli.Flags) *cobra.Command {
	var archs []string
	cmd := &cobra.Command{
		Use:   "vendor DIR",
		Short: "Copy the assets that nodes ask for into a store",
		Long: `vendor downloads the assets that the nodes of a store need, checks their hashes, and
puts them into the directory ` + extras.StoreMirror + ` of each cluster. Nodes take them from there if
their documents say:

  spec:
    assetsMirror: ` + extras.StoreMirror + `

Then they need no other server than their store. vendor does not download again what is
there with the right hash. Run it again when documents name other versions.`,
		Example: `  agent store vendor ./store
  agent store vendor ./store --arch arm64`,
		Args: oneArg("the store's directory", "agent store vendor ./store"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return vendor(cmd.Context(), f, args[0], archs)
		},
	}
	cmd.Flags().StringSliceVar(&archs, "arch", []string{"amd64", "arm64"}, "the architectures of the nodes")
	complete(cmd, "arch", "amd64", "arm64")
	return cmd
}

func vendor(ctx context.Context, f *cli.Flags, location string, archs []string) error {
	for _, arch := range archs {
		if arch != "amd64" && arch != "arm64" {
			return problem.Usage.Errorf("--arch %s: expected amd64 or arm64", arch)
		}
	}
	dir, clusters, err := clustersOf(f, location)
	if err != nil {
		return err
	}
	var all []*mirror.Copied
	for _, cluster := range clusters {
		store, err := stores.Open(dir, cluster, stores.Options{})
		if err != nil {
			return err
		}
		to, err := directory.NewWriter(strings.TrimPrefix(dir, "file://"), cluster)
		if err != nil {
			return err
		}
		fetcher := assets.New(store)
		defer fetcher.Close()
		copied, err := mirror.Cluster{Store: store, To: to, Archs: archs,
			Assets: fetch.Observed{Fetcher: fetcher, OnProgress: progressTo(f.Err)}}.Copy(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", cluster, err)
		}
		all = append(all, copied)
	}
	if !f.Text() {
		return f.Data(all)
	}
	for _, c := range all {
		printCopied(f.Out, c)
	}
	return nil
}

// progressTo prints a line when a download begins, every two seconds, and when it ends.
func progressTo(out io.Writer) func(fetch.Transfer) {
	var last time.Time
	return func(t fetch.Transfer) {
		if now := time.Now(); t.Got == 0 || t.Over || now.Sub(last) >= 2*time.Second {
			last = now
			fmt.Fprintln(out, t)
		}
	}
}

func printCopied(out io.Writer, c *mirror.Copied) {
	fetched := 0
	for _, a := range c.Assets {
		state := "there already"
		if a.Fetched {
			state = "fetched"
			fetched++
		}
		fmt.Fprintf(out, "%s: %s %s: %s, %.1f MB, %s\n", c.Cluster, a.Name, a.Arch, a.File, float64(a.Bytes)/1e6, state)
	}
	fmt.Fprintf(out, "%s: %s, %d fetched\n", c.Cluster, plural.Of(len(c.Assets), "asset"), fetched)
	if len(c.Unset) > 0 && len(c.Assets) > 0 {
		fmt.Fprintf(out, "%s: %s still ask the URLs: write `assetsMirror: %s` under spec of cluster.yaml\n", c.Cluster,
			strings.Join(c.Unset, ", "), extras.StoreMirror)
	}
}
