package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aead.dev/minisign"
	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/check"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore"
)

// defaultExpires is how long a publication can be taken for new, where nobody says otherwise: who
// keeps a later one from a node is found out then.
const defaultExpires = 30 * 24 * time.Hour

// publishing is what the flags of publish and sign say.
type publishing struct {
	key, passwordFile string
	expires           time.Duration
	note              statestore.Note
	check             checking
}

func publishCommand(f *flags, s streams) *cobra.Command {
	var p publishing
	cmd := &cobra.Command{
		Use:   "publish DIR DEST",
		Short: "Validate a store's directory, sign it, and publish it as one generation",
		Long: `publish does what check does, and then uploads every object under its hash and moves
the manifest, which names them, last: nodes see the state of before or of after.
DEST is a directory, an s3:// URL, or k8s://NAMESPACE by the kubeconfig of kubectl. Of two publishers at once one loses, and
is told; nothing of its work is seen. Where DEST has it all, nothing is moved, until half of
its time is over.`,
		Example: `  agent store publish ./store s3://bucket/prefix --key netwright.key --expires 720h`,
		Args: twoArgs("the store's directory and where to publish it",
			"agent store publish ./store s3://bucket/prefix"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.publish(cmd.Context(), f, s, args[0], args[1])
		},
	}
	p.addKey(cmd)
	cmd.Flags().DurationVar(&p.expires, "expires", defaultExpires, "no node takes it for new after that time; 0: never")
	l := cmd.Flags()
	l.StringVar(&p.note.Publisher, "publisher", "",
		"who publishes, for store history and the nodes (default: the user and the machine)")
	l.StringVar(&p.note.Commit, "commit", "", "the commit that the documents are of")
	l.StringVarP(&p.note.Message, "message", "m", "", "why it is published")
	p.check.add(cmd)
	return cmd
}

func (p *publishing) addKey(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.key, "key", "",
		"`FILE` of the private key that signs, from agent store keygen or minisign -G")
	addPasswordFile(cmd, &p.passwordFile)
}

// private is the key that signs, nil where none is named.
func (p *publishing) private() (*minisign.PrivateKey, error) {
	if p.key == "" {
		return nil, nil
	}
	return readKey(p.key, p.passwordFile)
}

func (p *publishing) publish(ctx context.Context, f *flags, s streams, dir, dest string) error {
	if p.expires < 0 || p.expires > 0 && p.expires < time.Minute {
		return problem.Usage.Errorf("--expires %s: expected a minute or more, such as 720h", p.expires)
	}
	p.note.Publisher = cmp.Or(p.note.Publisher, caller())
	if err := p.note.Check(); err != nil {
		return err
	}
	key, err := p.private()
	if err != nil {
		return err
	}
	options, err := f.publisherOptions()
	if err != nil {
		return err
	}
	if from, err := filepath.Abs(dir); err == nil {
		if to, err := filepath.Abs(dest); err == nil && (from == to || from == filepath.Join(to, f.cluster)) {
			return problem.Usage.Errorf("publish %s into itself: its documents would not be read any more: publish to "+
				"another directory", dir)
		}
	}
	checked, ok, err := p.check.all(ctx, f, dir)
	switch {
	case err != nil:
		return err
	case !ok:
		p.check.print(s.err, checked)
		return problem.StorePublish.Errorf("%s has errors: nothing was published", dir)
	}
	of := map[string]*check.Checked{}
	for _, c := range checked {
		of[c.Cluster] = c
		said(s.err, c)
	}
	dir, clusters, err := clustersOf(f, dir)
	if err != nil {
		return err
	}
	for _, cluster := range clusters {
		objects, err := everything(ctx, dir, cluster)
		if err != nil {
			return err
		}
		all := maps.Clone(objects)
		if keysets := of[cluster].Withhold(objects); len(keysets) > 0 {
			fmt.Fprintf(s.err, "agent: %s: the private keys of %s were not published: no node uses them, or they are "+
				"of a CA that no control plane node signs with (source: ca in spec.certificates)\n",
				cluster, strings.Join(keysets, ", "))
		}
		maps.DeleteFunc(all, func(name string, _ []byte) bool { return objects[name] != nil })
		to, err := statestore.OpenSink(dest, cluster, options)
		if err != nil {
			return err
		}
		done, err := statestore.Publish(ctx, to, statestore.Publication{
			Cluster: cluster, Objects: objects, ControlPlane: of[cluster].ControlPlaneKeys(objects),
			Withheld: slices.Collect(maps.Keys(all)),
			Note:     p.note, Key: key, Lasts: p.expires, Now: time.Now(),
		})
		if err != nil {
			return problem.StorePublish.Wrap(err)
		}
		if len(done.Exposed) > 0 {
			fmt.Fprintf(s.err, "agent: warning: %s: every node can read %s, which an earlier generation published: "+
				"%s\n", cluster, strings.Join(done.Exposed, ", "), howToHide)
		}
		if err := f.printPublished(s, done, "published"); err != nil {
			return err
		}
		if key == nil {
			fmt.Fprintf(s.err, "agent: warning: %s is not signed: a node takes it only with pin %s, or with "+
				"insecureUnsigned; sign with --key\n", cluster, done.Digest)
		}
	}
	return nil
}

// publisherOptions are how a person's own machine publishes: with the settings for stores of the
// agent's own file, as the daemon would, and without one to Kubernetes as kubectl would. What the
// file says of clusters is of the node that it is on.
func (f *flags) publisherOptions() (statestore.Options, error) {
	named := f.cluster
	if err := f.readConf(); err != nil {
		return statestore.Options{}, err
	}
	f.cluster = named
	o := f.storeOptions(nil)
	if o.Kubernetes.Kubeconfig == "" {
		o.Kubernetes.Kubeconfig = os.Getenv("KUBECONFIG")
	}
	if home, err := os.UserHomeDir(); err == nil && o.Kubernetes.Kubeconfig == "" {
		o.Kubernetes.Kubeconfig = filepath.Join(home, ".kube", "config")
	}
	return o, nil
}

// clustersOf are the clusters that a command is about: the named one, or all of a directory.
func clustersOf(f *flags, location string) (store string, clusters []string, err error) {
	if f.cluster != "" {
		return location, []string{f.cluster}, nil
	}
	return statestore.Clusters(location)
}

// everything is all objects of a cluster, as they are at one moment.
func everything(ctx context.Context, dir, cluster string) (map[string][]byte, error) {
	store, err := statestore.Open(dir, cluster, statestore.Options{})
	if err != nil {
		return nil, err
	}
	snapshot, err := store.Fetch(ctx, statestore.Revision{})
	if err != nil {
		return nil, fmt.Errorf("read what is to be published: %w", err)
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

func (f *flags) printPublished(s streams, p *statestore.Published, done string) error {
	if !f.text() {
		return f.data(s, p)
	}
	if p.Unchanged {
		done = "nothing to publish: it is there already as"
	}
	fmt.Fprintf(s.out, "%s: %s generation %d in %s: %d objects\n  sha256 %s\n", p.Cluster, done, p.Generation, p.To,
		p.Objects, p.Digest)
	if p.SignedBy != "" {
		fmt.Fprintf(s.out, "  signed by key %s\n", p.SignedBy)
	}
	if !p.Expires.IsZero() {
		fmt.Fprintf(s.out, "  expires at %s: publish again before, whether or not anything changes; nodes that have "+
			"it keep it, and no other takes it then\n", p.Expires.Format(time.RFC3339))
	}
	return nil
}
