// Package remote is the store behind an [objectstore.Source]: a published cluster, or what kOps
// keeps of one, and which of both it is. What the node took last is such a store too, in memory.
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

// Remote is a published cluster behind a [objectstore.Source]. A look at it that finds nothing new
// is one request without a body; a new generation is the manifest and its bundle. What it read and
// verified it keeps in memory, and asks for no object twice. What the node has kept of an earlier
// process it does not ask for either: then a boot is one request.
type Remote struct {
	cluster string
	source  objectstore.Source
	trust   *trust.Policy    // nil: whatever is there is taken
	cache   statestore.Cache // nil: none
	open    func(raw []byte, cluster, store string, policy *trust.Policy) (*manifest.Manifest, string, error)

	mu       sync.Mutex
	etag     string             // of the manifest that was read last
	raw      []byte             // that one, as it came
	manifest *manifest.Manifest // that one; nil: none yet, or it was refused
	looks    int                // since it was refused
	revision statestore.Revision
	have     map[string][]byte // its objects, by sha256, as far as they were read
	recalled bool              // what the node has kept is among them
}

var (
	_ statestore.Store   = (*Remote)(nil)
	_ statestore.Watcher = (*Remote)(nil)
)

// New returns the store of the cluster whose objects source has. It reads nothing yet.
func New(source objectstore.Source, cluster string, policy *trust.Policy) *Remote {
	return &Remote{cluster: cluster, source: source, trust: policy, open: manifest.Open, have: map[string][]byte{}}
}

// Remember gives the store a memory, before it is used.
func (r *Remote) Remember(m statestore.Cache) { r.cache = m }

// String implements [statestore.Store].
func (r *Remote) String() string { return r.source.String() }

func (r *Remote) wrap(err error) error { return fmt.Errorf("state store %s: %w", r, err) }

// seen reports whether there has been a manifest.
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
		// An object may be gone because a newer manifest no longer names it.
		if again || !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if lookErr := r.look(ctx); lookErr != nil || r.revision == before {
			return nil, err
		}
	}
}

// look makes sure that the manifest is the one that is there now.
func (r *Remote) look(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	got, err := r.source.Get(ctx, manifest.Name, r.currentETag(), manifest.MaxSize+trust.MaxSignaturesSize)
	switch {
	case errors.Is(err, statestore.ErrNotModified) && r.raw == nil:
		return graph.Transient(errors.New("it says that the manifest is as it was, and was not told of any: look at " +
			"the server, or the cache before it"))
	case errors.Is(err, statestore.ErrNotModified) && r.manifest != nil:
		return nil
	case errors.Is(
		err, statestore.ErrNotModified,
	): // it was refused: since then a clock may have been set, or a person have said that it may be older
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

// take looks at the manifest that was read.
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

// currentETag is the ETag to ask with. A manifest that was refused may have been damaged on its
// way, under an ETag that is right: it is asked for anew, ever more seldom, and at every sixteenth
// look.
func (r *Remote) currentETag() string {
	if r.raw != nil && r.manifest == nil {
		if r.looks++; r.looks&(r.looks-1) == 0 || r.looks%16 == 0 {
			return ""
		}
	}
	return r.etag
}

// forget lets go of objects that the manifest does not name.
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

// recall takes what the node has kept of the store, as far as the manifest names it.
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

// missing lists what of the bundle's objects has yet to be read.
func (r *Remote) missing() []string {
	return slices.DeleteFunc(r.manifest.InBundle(), func(name string) bool {
		_, have := r.have[r.manifest.Objects[name].SHA256]
		return have || !manifest.IsPublished(name)
	})
}
