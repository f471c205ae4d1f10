package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// readers is how many objects are requested at once if there is no bundle.
const readers = 8

// lazily returns a context that limits the read of one object that stayed in the store, with all
// attempts.
func lazily() (context.Context, context.CancelFunc) {
	const limit = 2 * time.Minute
	return context.WithTimeoutCause(context.Background(), limit,
		fmt.Errorf("no answer within %s: look at the store and the way to it", limit))
}

// fill reads the objects that are missing. It reads the bundle, or the object itself if only one is
// missing.
func (r *Remote) fill(ctx context.Context) error {
	if len(r.missing()) > 0 {
		r.recall()
	}
	names := r.missing()
	if r.manifest.Bundle == nil || len(names) < 2 {
		return r.fillSingly(ctx, names)
	}
	got, err := r.source.Get(ctx, r.manifest.Bundle.Path(), "", r.manifest.Bundle.Size)
	if err != nil {
		return r.gone("the bundle", err)
	}
	parts, err := r.manifest.Unbundle(got.Body)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := r.save(name, parts[name]); err != nil {
			return err
		}
	}
	return nil
}

// fillSingly reads objects one by one, several at a time. If one fails, it still saves the others
// that were read and verified.
func (r *Remote) fillSingly(ctx context.Context, names []string) error {
	var (
		failed  atomic.Bool // start no further object; the other goroutines finish theirs
		results sync.Mutex
		all     errgroup.Group
	)
	all.SetLimit(readers)
	for _, name := range names {
		all.Go(func() error {
			if failed.Load() {
				return nil
			}
			data, err := r.get(ctx, name, r.manifest.Objects[name])
			results.Lock()
			defer results.Unlock()
			if err == nil {
				err = r.save(name, data)
			}
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	return all.Wait()
}

// get reads one object.
func (r *Remote) get(ctx context.Context, name string, o manifest.Object) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	data, err := r.read(ctx, name, o)
	if err != nil {
		return nil, r.gone(fmt.Sprintf("object %q", name), err)
	}
	return data, nil
}

// read requests an object. If a private key is not where every node reads, read looks where only
// control plane nodes read.
func (r *Remote) read(ctx context.Context, name string, o manifest.Object) ([]byte, error) {
	got, err := r.source.Get(ctx, o.Path(), "", o.Size)
	if !manifest.IsPrivate(name) || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return got.Body, err
	}
	guarded, denied := r.source.Get(ctx, o.ControlPlanePath(), "", o.Size)
	if !errors.Is(denied, fs.ErrNotExist) {
		got, err = guarded, denied
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("it is missing, or for control plane nodes alone: %w", err)
	}
	return got.Body, err
}

// save verifies an object and saves it in memory.
func (r *Remote) save(name string, data []byte) error {
	o := r.manifest.Objects[name]
	if err := o.VerifyBytes(name, data); err != nil {
		return err
	}
	r.have[o.SHA256] = data
	return nil
}

// gone adds to the error of a missing object what to do.
func (r *Remote) gone(what string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s of generation %d is missing: publish again, the manifest last: %w", what,
			r.manifest.Generation, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// verifyEach verifies the bundle, and each object in it by itself.
func (r *Remote) verifyEach(ctx context.Context, m *manifest.Manifest) error {
	each, ctx := errgroup.WithContext(ctx)
	each.SetLimit(readers)
	hold := func(name string, o manifest.Object) {
		each.Go(func() error {
			_, err := m.Read(ctx, r.source, name, o)
			if err != nil {
				return r.wrap(err)
			}
			return nil
		})
	}
	if m.Bundle != nil {
		hold(manifest.BundleName, *m.Bundle)
	}
	for _, name := range m.InBundle() {
		hold(name, m.Objects[name])
	}
	return each.Wait()
}

// snapshot returns a snapshot of what was read.
func (r *Remote) snapshot() (*statestore.Snapshot, error) {
	m := r.manifest
	s := &statestore.Snapshot{Revision: r.revision, Cluster: r.cluster, Objects: map[string][]byte{}, Manifest: r.raw,
		Published: m.Published, Expires: m.Expires, Origin: r.String()}
	s.ReadByAll = func(ctx context.Context, name string) (bool, error) {
		return m.Objects[name].ReadByAll(ctx, r.source)
	}
	s.Verify = func(ctx context.Context) error { return r.verifyEach(ctx, m) }
	for _, name := range slices.Sorted(maps.Keys(m.Objects)) {
		o := m.Objects[name]
		switch {
		case name == manifest.NoteName:
			s.Note = manifest.NoteOf(r.have[o.SHA256])
		case !manifest.IsObject(name):
			s.Notes = append(s.Notes, manifest.NoteIgnored(name, false))
		case manifest.IsPrivate(name):
			s.Private = append(s.Private, blob.Named{Name: name, Content: r.stored(name, o)})
		case manifest.IsFile(name):
			s.Files = append(s.Files, blob.Named{Name: name, Content: r.stored(name, o)})
		default:
			s.Objects[name] = r.have[o.SHA256]
		}
	}
	return s, s.Complete()
}

// stored returns a content that stays in the store. If the node has a copy, the copy is read.
func (r *Remote) stored(name string, o manifest.Object) blob.Content {
	digest, generation := o.Digest(), r.manifest.Generation
	return o.Stored(func() ([]byte, error) {
		if r.cache != nil {
			if data, err := r.cache.Blob(digest); err == nil && trust.Digest(data) == o.SHA256 {
				return data, nil
			}
		}
		ctx, cancel := lazily()
		defer cancel()
		data, err := r.read(ctx, name, o)
		if err != nil {
			return nil, r.wrap(fmt.Errorf("object %q of generation %d: %w", name, generation, err))
		}
		return data, o.VerifyBytes(name, data)
	})
}
