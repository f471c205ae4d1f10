package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// verifiedStore is what verify prints about a cluster: its manifest and all objects that it names
// are right.
type verifiedStore struct {
	Cluster    string    `json:"cluster"`
	Store      string    `json:"store"`
	Generation int64     `json:"generation"`
	Digest     string    `json:"digest"`
	Published  time.Time `json:"published,omitzero"`
	Expires    time.Time `json:"expires,omitzero"`
	manifest.Note
	SignedBy []string `json:"signedBy"` // as the signatures name them; with a trusted key, one of them was verified
	Objects  int      `json:"objects"`
	// Denied are private keys that only control plane nodes may read, and that the caller may not.
	Denied []string `json:"denied,omitempty"`
}

func verifyStoreCommand(f *cli.Flags) *cobra.Command {
	var keys []string
	var pin string
	cmd := &cobra.Command{
		Use:   "verify STORE",
		Short: "Hold what is published against pin, keys and hashes, as a node does",
		Long: `verify reads a published store as a node does. It trusts the keys of the agent's
own file and of --public-key, and the pin of --pin or of that file. It checks the hash
of every object, and changes nothing.

Exit code: 0 a node accepts the store; 1 it does not, and verify says why.`,
		Example: `  agent store verify s3://bucket/prefix --cluster demo.example.com --public-key netwright.pub`,
		Args:    oneArg("where it is published", "agent store verify s3://bucket/prefix --public-key netwright.pub"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.Read(); err != nil {
				return err
			}
			if pin != "" {
				f.Trust.Pin = trust.Pin{Digest: pin, Origin: "--pin"}
			}
			for _, text := range keys {
				key, err := publicKey(text)
				if err != nil {
					return err
				}
				f.Trust.Keys = append(f.Trust.Keys, key)
			}
			location, clusters, err := clustersOf(f, args[0])
			if err != nil {
				return err
			}
			for _, cluster := range clusters {
				if err := verifyStore(cmd.Context(), f, location, cluster); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&keys, "public-key", nil,
		"a key to trust, beside those of the agent's file: a .pub file, or its second line")
	cmd.Flags().StringVar(&pin, "pin", "", "the sha256 that the manifest must have")
	return cmd
}

func verifyStore(ctx context.Context, f *cli.Flags, location, cluster string) error {
	store, err := stores.Open(location, cluster, f.StoreOptions(&f.Trust))
	if err != nil {
		return err
	}
	snapshot, err := statestore.Bounded(store).Fetch(ctx, statestore.Revision{})
	if err != nil {
		return problem.Store.Wrap(err)
	}
	if snapshot.Verify != nil {
		if err := snapshot.Verify(ctx); err != nil {
			return problem.Store.Wrap(err)
		}
	}
	var denied []string
	for _, object := range snapshot.Private {
		_, err := object.Bytes()
		switch {
		case errors.Is(err, fs.ErrPermission):
			denied = append(denied, object.Name)
		case err != nil:
			return err
		}
	}
	for _, object := range snapshot.Files {
		if _, err := object.Bytes(); err != nil {
			return err
		}
	}
	statement, signatures, err := trust.Split(snapshot.Manifest)
	if err != nil {
		return err
	}
	v := verifiedStore{Cluster: cluster, Store: store.String(), Generation: snapshot.Generation,
		Digest: snapshot.Digest, Expires: snapshot.Expires, Note: snapshot.Note, SignedBy: []string{}, Denied: denied}
	for _, text := range signatures {
		v.SignedBy = append(v.SignedBy, trust.SignedBy(text))
	}
	v.Objects = len(snapshot.Objects) + len(snapshot.Files) + len(snapshot.Private)
	if snapshot.Generation > 0 {
		m, err := manifest.Parse(statement, cluster)
		if err != nil {
			return err
		}
		v.Published = m.Published
	}
	if !f.Text() {
		return f.Data(v)
	}
	fmt.Fprintf(f.Out, "%s: generation %d in %s is right: %s\n  sha256 %s\n", v.Cluster, v.Generation, v.Store,
		plural.Of(v.Objects, "object"), v.Digest)
	if len(v.Denied) > 0 {
		fmt.Fprintf(f.Out, "  not checked, because these credentials may not read them: %s\n",
			strings.Join(v.Denied, ", "))
	}
	for _, by := range v.SignedBy {
		fmt.Fprintf(f.Out, "  signed by key %s%s\n", by, trustNote(f.Trust.Keys, by))
	}
	for _, t := range []struct {
		what string
		at   time.Time
	}{{"published at", v.Published}, {"expires at", v.Expires}} {
		if !t.at.IsZero() {
			fmt.Fprintf(f.Out, "  %s %s\n", t.what, report.Stamp(t.at))
		}
	}
	if by := v.Note.String(); by != "" {
		fmt.Fprintf(f.Out, "  published by %s\n", by)
	}
	return nil
}

// trustNote returns a note where the key of a signature is trusted.
func trustNote(keys []trust.Key, id string) string {
	for _, k := range keys {
		if trust.ID(k.Public.ID()) == id {
			return ", which is trusted"
		}
	}
	return ""
}
