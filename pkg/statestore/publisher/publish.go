// Package publisher publishes, signs and prunes a cluster in a store, and reads its past
// generations. Commands for people use it, nodes do not.
package publisher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"aead.dev/minisign"
	"golang.org/x/sync/errgroup"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/directory"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// Publication is the input of [Publish].
type Publication struct {
	Cluster string
	Objects map[string][]byte // by name: see [manifest.Layout]
	// ControlPlane are the names of private keys that only control plane nodes read. Publish stores
	// them where the policy of the store can deny other nodes the access: below
	// objects/control-plane, and in Kubernetes in a namespace of their own. If a name outside this
	// list has the same content, the content stays where every node can read it.
	ControlPlane []string
	// Withheld are the names of private keys that are not published now, and that an earlier
	// generation may have.
	Withheld []string
	Note     manifest.Note        // who publishes and why; zero if unknown
	Key      *minisign.PrivateKey // signs the manifest; nil for no signature
	Lasts    time.Duration        // time until the publication expires; 0 for never
	// Above is the highest generation that nodes took before the store was restored. The new
	// generation is higher, and is published even if nothing changed. 0 means that the store was
	// not restored.
	Above int64
	Now   time.Time
}

// Published is the result of [Publish] or [Sign].
type Published struct {
	Cluster    string    `json:"cluster"`
	To         string    `json:"to"`
	Generation int64     `json:"generation"`
	Digest     string    `json:"digest"` // for a pin
	Objects    int       `json:"objects"`
	Bundle     int64     `json:"bundle"` // bytes
	SignedBy   string    `json:"signedBy,omitempty"`
	Expires    time.Time `json:"expires,omitzero"`
	// Exposed are the keys of ControlPlane and Withheld that every node can read, because an
	// earlier generation stored them there. Any node may have read them, so they must be replaced
	// and their objects pruned.
	Exposed []string `json:"exposed,omitempty"`
	// Unchanged reports whether the store had all of it already. The manifest was not replaced
	// then.
	Unchanged bool `json:"unchanged"`
}

// lastGeneration is the highest generation that may have a successor. Programs in every language
// can represent it, and nobody reaches it by publishing.
const lastGeneration = 1<<53 - 1

// writers is how many objects are uploaded at once.
const writers = 8

// Publish uploads the objects and their bundle, and then replaces the manifest if it has not
// changed meanwhile. So a reader sees the state before or after the publication. If two publishers
// run at once, one gets an error, and no reader sees a change by it. Publish also returns an error
// if the store would let both replace the manifest. It may be retried.
func Publish(ctx context.Context, to objectstore.Destination, p Publication) (out *Published, err error) {
	defer within(&err, "publish to", to)
	raw, old, err := current(ctx, to, p.Cluster)
	if err != nil {
		return nil, err
	}
	fence, err := newFence(ctx, to)
	if err != nil {
		return nil, err
	}
	last := max(old.Generation, p.Above)
	if last >= lastGeneration {
		return nil, problem.GenerationJump.Errorf("no number follows generation %d: find out who published it; "+
			"publish to another place, and set store of all nodes to it", last)
	}
	of := &manifest.Manifest{Published: p.Now.UTC().Truncate(time.Second)}
	if p.Lasts > 0 {
		of.Expires = of.Published.Add(p.Lasts)
	}
	stays := old.Generation > p.Above && lasts(old, of) && signedBy(raw.Body, p.Key)
	if err := errors.Join(p.Note.Check(), p.annotate(ctx, to, old, stays)); err != nil {
		return nil, err
	}
	m := manifest.New(p.Cluster, last+1, p.Objects)
	m.Published, m.Expires = of.Published, of.Expires
	bundle := m.AddBundle(p.Objects)
	if err := m.Check(); err != nil {
		return nil, err
	}
	previous, signatures, err := trust.Split(raw.Body)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(fence.record(ctx, old, previous), upload(ctx, to, m, p, bundle)); err != nil {
		return nil, fmt.Errorf("nothing has changed for its readers: %w", err)
	}
	out = &Published{Cluster: p.Cluster, To: to.String(), Objects: m.Count(), Bundle: m.Bundle.Size}
	if out.Exposed, err = exposed(ctx, to, old, m, p); err != nil {
		return nil, fmt.Errorf("nothing has changed for its readers: %w", err)
	}
	if p.Key != nil {
		out.SignedBy = trust.ID(p.Key.ID())
	}
	if same(old, m) && stays {
		out.Unchanged, out.Generation, out.Digest, out.Expires = true, old.Generation, trust.Digest(previous),
			old.Expires
		if p.Key == nil && len(signatures) > 0 {
			out.SignedBy = trust.SignedBy(signatures[0])
		}
		return out, nil
	}
	statement := m.Encode()
	out.Generation, out.Digest, out.Expires = m.Generation, trust.Digest(statement), m.Expires
	if err := errors.Join(fence.prove(ctx, m, statement, raw.ETag), fence.check(ctx)); err != nil {
		return nil, fmt.Errorf("nothing has changed for its readers: %w", err)
	}
	signed := trust.Join(statement)
	if p.Key != nil {
		signed = trust.Join(statement, trust.Sign(*p.Key, statement, comment(m)))
	}
	return out, move(ctx, to, signed, raw.ETag)
}

// annotate adds the note to the objects. If nothing else changes and the published manifest stays,
// annotate takes the published note instead, so that the same documents make no new generation.
func (p *Publication) annotate(ctx context.Context, from objectstore.Source, old *manifest.Manifest, stays bool) error {
	p.Objects = maps.Clone(p.Objects)
	delete(p.Objects, manifest.NoteName) // the note of a generation that is published again
	if stays && old.Names(p.Objects) {
		there, err := old.ReadNote(ctx, from)
		if err == nil && there != nil {
			p.Objects[manifest.NoteName] = there
		}
		if err == nil || problem.Find(err) != problem.StoreDamaged {
			return err
		}
	}
	if p.Note != (manifest.Note{}) {
		p.Objects[manifest.NoteName] = p.Note.Encode()
	}
	return nil
}

// move replaces the manifest. It is the last step of a publication.
func move(ctx context.Context, to objectstore.Destination, signed []byte, known string) error {
	err := to.Replace(ctx, manifest.Name, signed, known)
	if errors.Is(err, objectstore.ErrConflict) {
		return fmt.Errorf("another publisher published meanwhile, so this was not published: merge that change into "+
			"yours, and publish again: %w", err)
	}
	if err != nil {
		return fmt.Errorf("move the manifest: %w", err)
	}
	return nil
}

// comment returns the trusted comment of a signature.
func comment(m *manifest.Manifest) string {
	return fmt.Sprintf("%s generation %d", m.Cluster, m.Generation)
}

// within adds to an error what was done to which store.
func within(err *error, what string, store fmt.Stringer) {
	if *err != nil {
		*err = fmt.Errorf("%s %s: %w", what, store, *err)
	}
}

// current returns the published manifest; one of generation 0 if there is none.
func current(ctx context.Context, from objectstore.Source, cluster string) (objectstore.Object, *manifest.Manifest, error) {
	raw, err := from.Get(ctx, manifest.Name, "", manifest.MaxSize+trust.MaxSignaturesSize)
	if errors.Is(err, fs.ErrNotExist) {
		return objectstore.Object{}, &manifest.Manifest{}, nil
	}
	if err != nil {
		return raw, nil, err
	}
	if raw.ETag == "" {
		return raw, nil, errors.New("the store returns no ETag for its manifest, so two publishers could overwrite " +
			"each other: publish to another store")
	}
	m, _, err := manifest.Open(raw.Body, cluster, from.String(), nil)
	if err != nil {
		return raw, nil, fmt.Errorf("read what is there: %w; or move it away and publish anew, with another name", err)
	}
	return raw, m, nil
}

// upload puts the objects and the bundle into the store.
func upload(ctx context.Context, to objectstore.Destination, m *manifest.Manifest, p Publication, bundle []byte) error {
	all, private, single, open := map[string][]byte{m.Bundle.Path(): bundle}, map[string]bool{},
		map[string]bool{}, map[manifest.Object]bool{}
	for name, o := range m.Objects {
		open[o] = open[o] || !slices.Contains(p.ControlPlane, name)
	}
	for name, o := range m.Objects {
		at := o.Path()
		if !open[o] {
			at = o.ControlPlanePath()
		}
		all[at] = p.Objects[name]
		if manifest.IsPrivate(name) {
			private[at] = true
		}
		single[at] = single[at] || !manifest.Bundled(name)
	}
	if d, ok := to.(*directory.Writer); ok { // in other stores the policy of the store says who may read
		d.Private = private
	}
	each, ctx := errgroup.WithContext(ctx)
	each.SetLimit(writers)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		each.Go(func() error {
			if c, ok := to.(objectstore.Confidential); ok && single[name] {
				return c.PutConfidential(ctx, name, all[name])
			}
			return to.Put(ctx, name, all[name])
		})
	}
	return each.Wait()
}

// exposed returns the names of ControlPlane and Withheld that every node can read. An earlier
// generation stored them there, or another object of this publication has the same content. A key
// that the publisher may not look up is left out.
func exposed(
	ctx context.Context, in objectstore.Source, old, now *manifest.Manifest, p Publication,
) (names []string, err error) {
	for _, name := range slices.Concat(p.ControlPlane, p.Withheld) {
		for _, m := range []*manifest.Manifest{old, now} {
			o, ok := m.Objects[name]
			if !ok || slices.Contains(names, name) {
				continue
			}
			open, err := o.ReadByAll(ctx, in)
			if err != nil {
				return nil, fmt.Errorf("look whether every node can read %q: %w", name, err)
			}
			if open {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// same reports whether the published manifest has the same objects for a reader.
func same(old, now *manifest.Manifest) bool {
	return maps.Equal(old.Objects, now.Objects) && old.Bundle != nil && *old.Bundle == *now.Bundle && old.Generation > 0
}

// lasts reports whether the expiry of the published manifest may stay. It may if both never expire,
// or if the old expiry is not later than the new one and more than half of the new lifetime remains
// until it.
func lasts(old, now *manifest.Manifest) bool {
	if old.Expires.IsZero() || now.Expires.IsZero() {
		return old.Expires.IsZero() && now.Expires.IsZero()
	}
	half := now.Published.Add(now.Expires.Sub(now.Published) / 2)
	return !old.Expires.After(now.Expires) && old.Expires.After(half)
}

// signedBy reports whether a manifest has the signature of key. It returns true if there is no key.
func signedBy(raw []byte, key *minisign.PrivateKey) bool {
	if key == nil {
		return true
	}
	public, _ := key.Public().(minisign.PublicKey)
	_, err := trust.Policy{Keys: []trust.Key{{Public: public}}}.CheckCached(raw)
	return err == nil
}
