package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aead.dev/minisign"
	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/check"
	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/publisher"
	"github.com/netwright/netwright/pkg/statestore/stores"
)

// defaultExpires is how long nodes take a publication as new, where no flag says otherwise. After
// that a node notices when an attacker keeps newer publications from it.
const defaultExpires = 30 * 24 * time.Hour

// publishOptions are the flags of publish.
type publishOptions struct {
	*cli.Flags
	signOptions
	checkOptions
	expires time.Duration
	above   int64
	note    manifest.Note
}

func publishCommand(f *cli.Flags) *cobra.Command {
	o := publishOptions{Flags: f}
	cmd := &cobra.Command{
		Use:   "publish DIR DEST",
		Short: "Validate a store's directory, sign it, and publish it as one generation",
		Long: `publish first checks the store as check does. Then it uploads every object under its
hash. Last it replaces the manifest, which names the objects, so a node reads either the
old or the new state. publish does not upload assets. Copy them to DEST; publish warns
of those that DEST lacks.

DEST is a directory, an s3:// URL, or k8s://NAMESPACE with the kubeconfig of kubectl. If
two publishers run at once, one of them fails, and nodes see nothing of its work. If
DEST already has everything, publish replaces nothing until half of the time of
--expires is over.`,
		Example: `  agent store publish ./store s3://bucket/prefix --key netwright.key --expires 720h`,
		Args: twoArgs("the store's directory and where to publish it",
			"agent store publish ./store s3://bucket/prefix"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.publish(cmd.Context(), args[0], args[1])
		},
	}
	o.bindKey(cmd)
	o.bind(cmd)
	l := cmd.Flags()
	l.DurationVar(&o.expires, "expires", defaultExpires, "time after which no node takes this generation as new; 0: never")
	l.Int64Var(&o.above, "above", 0, "publish a higher generation than `N`, the one that nodes have taken, into a store "+
		"that was restored")
	l.StringVar(&o.note.Publisher, "publisher", "",
		"who publishes, for store history and the nodes (default: the user and the machine)")
	l.StringVar(&o.note.Commit, "commit", "", "the commit that the documents are of")
	l.StringVarP(&o.note.Message, "message", "m", "", "why it is published")
	return cmd
}

func (o *publishOptions) publish(ctx context.Context, dir, dest string) error {
	if o.expires < 0 || o.expires > 0 && o.expires < time.Minute {
		return problem.Usage.Errorf("--expires %s: expected a minute or more, such as 720h", o.expires)
	}
	o.note.Publisher = cmp.Or(o.note.Publisher, caller())
	if err := o.note.Check(); err != nil {
		return err
	}
	key, err := o.private()
	if err != nil {
		return err
	}
	options, err := publisherOptions(o.Flags)
	if err != nil {
		return err
	}
	if from, err := filepath.Abs(dir); err == nil {
		if to, err := filepath.Abs(dest); err == nil && (from == to || from == filepath.Join(to, o.Cluster)) {
			return problem.Usage.Errorf("publish %s into itself: its documents would not be read any more: publish to "+
				"another directory", dir)
		}
	}
	checked, ok, err := o.all(ctx, o.Flags, dir)
	switch {
	case err != nil:
		return err
	case !ok:
		o.printAll(o.Err, checked)
		return problem.StorePublish.Errorf("%s has errors: nothing was published", dir)
	}
	for _, c := range checked {
		said(o.Err, c)
	}
	store, _, err := clustersOf(o.Flags, dir)
	if err != nil {
		return err
	}
	for _, c := range checked {
		to, err := stores.OpenDestination(dest, c.Cluster, options)
		if err != nil {
			return err
		}
		if err := publishCluster(ctx, o, store, c, to, key); err != nil {
			return err
		}
	}
	return nil
}

// publishCluster publishes the objects of one cluster, and says what nodes will not like.
func publishCluster(
	ctx context.Context, o *publishOptions, store string, c *check.Checked, to objectstore.Destination,
	key *minisign.PrivateKey,
) error {
	objects, err := everything(ctx, store, c)
	if err != nil {
		return err
	}
	all := maps.Clone(objects)
	if keysets := c.Withhold(objects); len(keysets) > 0 {
		fmt.Fprintf(o.Err, "agent: %s: the private keys of %s were not published: no node uses them, or they are "+
			"of a CA that no control plane node signs with (source: ca in spec.certificates)\n",
			c.Cluster, strings.Join(keysets, ", "))
	}
	maps.DeleteFunc(all, func(name string, _ []byte) bool { return objects[name] != nil })
	if err := assetsAt(ctx, o.Err, to, c, o.strict); err != nil {
		return err
	}
	done, err := publisher.Publish(ctx, to, publisher.Publication{
		Cluster: c.Cluster, Objects: objects, ControlPlane: c.ControlPlaneKeys(objects),
		Withheld: slices.Collect(maps.Keys(all)),
		Note:     o.note, Key: key, Lasts: o.expires, Above: o.above, Now: time.Now(),
	})
	if err != nil {
		return problem.StorePublish.Wrap(err)
	}
	if len(done.Exposed) > 0 {
		fmt.Fprintf(o.Err, "agent: warning: %s: every node can read %s, which an earlier generation published: "+
			"%s\n", c.Cluster, strings.Join(done.Exposed, ", "), howToHide)
	}
	if err := printPublished(o.Flags, done, "published"); err != nil {
		return err
	}
	if done.SignedBy == "" {
		fmt.Fprintf(o.Err, "agent: warning: %s is not signed: a node takes it only with pin %s, or with "+
			"insecureUnsigned; sign with --key\n", c.Cluster, done.Digest)
	}
	return nil
}

// assetsAt warns of archives that nodes will fetch from the destination and that it does not have.
// With strict, the first one is an error.
func assetsAt(
	ctx context.Context, w io.Writer, to objectstore.Destination, checked *check.Checked, strict bool,
) error {
	for _, name := range checked.Assets {
		body, _, err := to.Open(ctx, name)
		if err == nil {
			body.Close()
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			continue // the publisher may have no right to read it
		}
		how := "copy it there, publish uploads no assets"
		if strings.HasPrefix(to.String(), "k8s://") {
			how = "a namespace keeps no assets, give them https:// or s3:// URLs"
		}
		lacks := fmt.Sprintf("%s has no %s, which nodes ask it for: %s", to, name, how)
		if strict {
			return problem.AssetMissing.Errorf("%s: nothing was published", lacks)
		}
		fmt.Fprintf(w, "agent: warning: %s\n", lacks)
	}
	return nil
}

// everything returns all objects of a cluster. It fails where they changed since the check.
func everything(ctx context.Context, dir string, checked *check.Checked) (map[string][]byte, error) {
	store, err := stores.Open(dir, checked.Cluster, stores.Options{})
	if err != nil {
		return nil, err
	}
	snapshot, err := statestore.Bounded(store).Fetch(ctx, statestore.Revision{})
	if err != nil {
		return nil, fmt.Errorf("read what is to be published: %w", err)
	}
	if snapshot.Revision != checked.Revision {
		return nil, problem.StorePublish.Errorf("%s changed since it was checked, and is not published: publish again",
			store)
	}
	objects := maps.Clone(snapshot.Objects)
	for _, file := range slices.Concat(snapshot.Files, snapshot.Private) {
		data, err := file.Bytes()
		if err != nil {
			return nil, fmt.Errorf("read what is to be published: %w", err)
		}
		objects[file.Name] = bytes.Clone(data)
	}
	return objects, nil
}

func printPublished(f *cli.Flags, p *publisher.Published, done string) error {
	if !f.Text() {
		return f.Data(p)
	}
	if p.Unchanged {
		done = "nothing to publish: it is there already as"
	}
	fmt.Fprintf(f.Out, "%s: %s generation %d in %s: %s\n  sha256 %s\n", p.Cluster, done, p.Generation, p.To,
		plural.Of(p.Objects, "object"), p.Digest)
	if p.SignedBy != "" {
		fmt.Fprintf(f.Out, "  signed by key %s\n", p.SignedBy)
	}
	if !p.Expires.IsZero() {
		fmt.Fprintf(f.Out, "  expires at %s: publish again before, whether or not anything changes; nodes that have "+
			"it keep it, and no other takes it then\n", report.Stamp(p.Expires))
	}
	return nil
}
