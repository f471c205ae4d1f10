// Package publisher is what a person does to a published cluster: publish, sign, prune, and look at
// its past. No node uses it.
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

// Publication is what is to be published.
type Publication struct {
	Cluster string
	Objects map[string][]byte // by name: see [manifest.Layout]
	// ControlPlane are the names of private keys that only control plane nodes read. They go where
	// the store's policy can deny them to others: below objects/control-plane, and in Kubernetes
	// into a namespace of their own. A key that another name has too, which is not of these, stays
	// where every node reads.
	ControlPlane []string
	// Withheld are the names of private keys that are not published, and that an earlier generation
	// may have.
	Withheld []string
	Note     manifest.Note        // who publishes, and why; the zero Note: nobody says
	Key      *minisign.PrivateKey // signs; nil: nobody does
	Lasts    time.Duration        // until it expires; 0: for ever
	// Above is the generation that nodes have taken before the store was restored: what is
	// published comes after it, whether or not anything changes. 0: none.
	Above int64
	Now   time.Time
}

// Published says what became of a publication.
type Published struct {
	Cluster    string    `json:"cluster"`
	To         string    `json:"to"`
	Generation int64     `json:"generation"`
	Digest     string    `json:"digest"` // for a pin
	Objects    int       `json:"objects"`
	Bundle     int64     `json:"bundle"` // bytes
	SignedBy   string    `json:"signedBy,omitempty"`
	Expires    time.Time `json:"expires,omitzero"`
	// Exposed are those of ControlPlane and Withheld that every node can read, since an earlier
	// generation put them there. Nobody knows who did: they are to be replaced, and their objects
	// pruned.
	Exposed []string `json:"exposed,omitempty"`
	// Unchanged says that the store has it all already: nothing was moved.
	Unchanged bool `json:"unchanged"`
}

// lastGeneration is the highest that is followed by another: a number that programs of all
// languages have, and that nobody reaches by publishing.
const lastGeneration = 1<<53 - 1

// writers is how many objects are uploaded at once.
const writers = 8

// Publish puts the objects there, then their bundle, and moves the manifest last, if it is still
// the one that was there before. So a reader sees the state of before or of after, and of two
// publishers at once one loses: that is an error, and nothing has changed for any reader. So is a
// store in which both could win. It may be retried.
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

// annotate adds the note to what is to be published. Where all the rest is there and stays, so does
// the note that is there: the same documents make no new generation.
func (p *Publication) annotate(ctx context.Context, from objectstore.Source, old *manifest.Manifest, stays bool) error {
	p.Objects = maps.Clone(p.Objects)
	delete(p.Objects, manifest.NoteName) // that of a generation which is published again
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

// move replaces the manifest, the last step.
func move(ctx context.Context, to objectstore.Destination, signed []byte, known string) error {
	err := to.Replace(ctx, manifest.Name, signed, known)
	if errors.Is(err, objectstore.ErrConflict) {
		return fmt.Errorf("somebody else published meanwhile, and this was not: see what they did, "+
			"take it in, and publish again: %w", err)
	}
	if err != nil {
		return fmt.Errorf("move the manifest: %w", err)
	}
	return nil
}

// comment is what a signature says of itself; it is signed too.
func comment(m *manifest.Manifest) string {
	return fmt.Sprintf("%s generation %d", m.Cluster, m.Generation)
}

// within says of an error what was done to which store.
func within(err *error, what string, store fmt.Stringer) {
	if *err != nil {
		*err = fmt.Errorf("%s %s: %w", what, store, *err)
	}
}

// current is the manifest that is there; one of generation 0 where there is none.
func current(ctx context.Context, from objectstore.Source, cluster string) (objectstore.Object, *manifest.Manifest, error) {
	raw, err := from.Get(ctx, manifest.Name, "", manifest.MaxSize+trust.MaxSignaturesSize)
	if errors.Is(err, fs.ErrNotExist) {
		return objectstore.Object{}, &manifest.Manifest{}, nil
	}
	if err != nil {
		return raw, nil, err
	}
	if raw.ETag == "" {
		return raw, nil, errors.New("it says no ETag of its manifest, without which two publishers could overwrite " +
			"each other: publish to another store")
	}
	m, _, err := manifest.Open(raw.Body, cluster, from.String(), nil)
	if err != nil {
		return raw, nil, fmt.Errorf("read what is there: %w; or move it away and publish anew, with another name", err)
	}
	return raw, m, nil
}

// upload puts what the manifest names there.
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
	if d, ok := to.(*directory.Writer); ok { // elsewhere who may read is said by the store's own policy
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

// exposed are the private keys that this publication keeps from other nodes, or from all, and that
// every node can read: an earlier generation put them there, or another object of this one is the
// same. A publisher that may not look is not told.
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

// same reports whether a publication has for a reader what is there.
func same(old, now *manifest.Manifest) bool {
	return maps.Equal(old.Objects, now.Objects) && old.Bundle != nil && *old.Bundle == *now.Bundle && old.Generation > 0
}

// lasts reports whether what is there ends when it is to end: never, or not later than it would,
// and after more than half of that time.
func lasts(old, now *manifest.Manifest) bool {
	if old.Expires.IsZero() || now.Expires.IsZero() {
		return old.Expires.IsZero() && now.Expires.IsZero()
	}
	half := now.Published.Add(now.Expires.Sub(now.Published) / 2)
	return !old.Expires.After(now.Expires) && old.Expires.After(half)
}

// signedBy reports whether a manifest has the key's signature, where there is a key.
func signedBy(raw []byte, key *minisign.PrivateKey) bool {
	if key == nil {
		return true
	}
	public, _ := key.Public().(minisign.PublicKey)
	_, err := trust.Policy{Keys: []trust.Key{{Public: public}}}.CheckCached(raw)
	return err == nil
}
