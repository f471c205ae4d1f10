// Package remote is a store that reads through an [objectstore.Source]: a published cluster or
// kOps' own store, which it tells apart by itself, or the node's copy of its last snapshot.
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/transfer"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// Remote is a published cluster. A Fetch that finds nothing new is one request without a body. A
// new generation costs the manifest and its bundle. Remote keeps in memory what it has verified,
// and requests no object twice. It does not request what an earlier process saved in the cache
// either: then a boot is one request.
type Remote struct {
	cluster string
	source  objectstore.Source
	trust   *trust.Policy    // nil accepts every manifest
	cache   statestore.Cache // nil for none
	open    func(raw []byte, cluster, store string, policy *trust.Policy) (*manifest.Manifest, string, error)

	mu       sync.Mutex
	etag     string             // of the last manifest that was read
	raw      []byte             // the last manifest as it was read
	manifest *manifest.Manifest // the last manifest; nil if there is none or it was refused
	looks    int                // requests for it since it was refused
	revision statestore.Revision
	have     map[string][]byte // objects that were read, by sha256
	recalled bool              // whether the contents of the cache were added
}

var (
	_ statestore.Store   = (*Remote)(nil)
	_ statestore.Watcher = (*Remote)(nil)
)

// New returns the store of the cluster whose objects source reads. It sends no request.
func New(source objectstore.Source, cluster string, policy *trust.Policy) *Remote {
	return &Remote{cluster: cluster, source: source, trust: policy, open: manifest.Open, have: map[string][]byte{}}
}

// Remember sets the cache. The caller calls it before it uses the store.
func (r *Remote) Remember(m statestore.Cache) { r.cache = m }

// String implements [statestore.Store].
func (r *Remote) String() string { return r.source.String() }

func (r *Remote) wrap(err error) error { return fmt.Errorf("state store %s: %w", r, err) }

// seen reports whether a manifest was read.
func (r *Remote) seen() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.raw != nil
}

// Fetch implements [statestore.Store].
func (r *Remote) Fetch(ctx context.Context, last statestore.Revision) (*statestore.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.fetch(ctx, last)
	if err != nil && !errors.Is(err, statestore.ErrNotModified) {
		return nil, r.wrap(err)
	}
	return s, err
}

func (r *Remote) fetch(ctx context.Context, last statestore.Revision) (*statestore.Snapshot, error) {
	for again := false; ; again = true {
		if err := r.look(ctx); err != nil {
			return nil, err
		}
		if r.revision == last {
			return nil, statestore.ErrNotModified
		}
		before := r.revision
		err := r.fill(ctx)
		if err == nil {
			return r.snapshot()
		}
		// A newer manifest may no longer name the object, so that a prune removed it.
		if again || !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if lookErr := r.look(ctx); lookErr != nil || r.revision == before {
			return nil, err
		}
	}
}

// look reads the manifest if it changed.
func (r *Remote) look(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	got, err := r.source.Get(ctx, manifest.Name, r.currentETag(), manifest.MaxSize+trust.MaxSignaturesSize)
	switch {
	case errors.Is(err, statestore.ErrNotModified) && r.raw == nil:
		return graph.Transient(errors.New("the server says \"not modified\", but the request had no condition: " +
			"check the server, or the cache in front of it"))
	case errors.Is(err, statestore.ErrNotModified) && r.manifest != nil:
		return nil
	case errors.Is(
		err, statestore.ErrNotModified,
	): // it was refused, but the clock may have been set since, or a person may accept an older one
		return r.take()
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no published cluster %q: publish it there, or set store and cluster to where it "+
			"is: %w", r.cluster, err)
	case err != nil:
		return err
	}
	r.etag, r.raw = got.ETag, got.Body
	return r.take()
}

// take checks the manifest that was read.
func (r *Remote) take() error {
	r.manifest, r.revision = nil, statestore.Revision{}
	m, digest, err := r.open(r.raw, r.cluster, r.String(), r.trust)
	if err != nil {
		return err
	}
	r.manifest, r.revision, r.looks = m, statestore.Revision{Generation: m.Generation, Digest: digest}, 0
	r.forget()
	return nil
}

// currentETag returns the ETag for the next request. A refused manifest may have been damaged on
// its way, under the right ETag. So some requests omit the ETag: the 1st, 2nd, 4th and 8th, and
// every 16th.
func (r *Remote) currentETag() string {
	if r.raw != nil && r.manifest == nil {
		if r.looks++; r.looks&(r.looks-1) == 0 || r.looks%16 == 0 {
			return ""
		}
	}
	return r.etag
}

// forget drops the objects that the manifest does not name.
func (r *Remote) forget() {
	named := r.manifest.Named(map[string]bool{})
	maps.DeleteFunc(r.have, func(sha string, _ []byte) bool { return !named[sha] })
}

// Open implements [statestore.Store].
func (r *Remote) Open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if ctx.Err() != nil {
		return nil, 0, r.wrap(context.Cause(ctx))
	}
	if !manifest.ValidName(name) {
		return nil, 0,
			r.wrap(fmt.Errorf("asset %q is no path below the cluster: write it as assets/NAME, without \"..\"", name))
	}
	body, size, err := r.source.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: put it there, or name another URL in spec.assets", err)
	}
	if err != nil {
		return nil, 0, r.wrap(err)
	}
	return transfer.Name(body, r.wrap), size, nil
}

// Changed implements [statestore.Watcher].
func (r *Remote) Changed(ctx context.Context) error {
	source, ok := r.source.(objectstore.Watcher)
	if !ok {
		return errors.ErrUnsupported
	}
	r.mu.Lock()
	known := r.etag
	r.mu.Unlock()
	if err := source.Changed(ctx, manifest.Name, known); err != nil {
		return r.wrap(err)
	}
	return nil
}

// recall takes the contents from the cache that the manifest names.
func (r *Remote) recall() {
	if r.recalled || r.cache == nil {
		return
	}
	r.recalled = true
	wanted := map[string]bool{}
	for _, name := range r.manifest.InBundle() {
		wanted[r.manifest.Objects[name].SHA256] = true
	}
	for _, data := range r.cache.Retained(r.String()) {
		if sum := trust.Digest(data); wanted[sum] {
			r.have[sum] = data
		}
	}
}

// missing returns the names of the bundle's objects that are not read yet.
func (r *Remote) missing() []string {
	return slices.DeleteFunc(r.manifest.InBundle(), func(name string) bool {
		_, have := r.have[r.manifest.Objects[name].SHA256]
		return have || !manifest.IsPublished(name)
	})
}
