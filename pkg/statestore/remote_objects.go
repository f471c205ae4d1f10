package statestore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// readers is how many objects are asked for at once where there is no bundle.
const readers = 8

// lazyLimit bounds the reading of one object that was left in the store, all attempts together.
const lazyLimit = 2 * time.Minute

// fill reads the objects that are missing: the bundle has them all, but for one alone is more than it takes.
func (r *Remote) fill(ctx context.Context) error {
	names := r.missing()
	if r.manifest.Bundle == nil || len(names) < 2 {
		return r.fillSingly(ctx, names)
	}
	got, err := r.source.Get(ctx, objectPath(*r.manifest.Bundle), "", r.manifest.Bundle.Size)
	if err != nil {
		return r.gone("the bundle", err)
	}
	parts, err := r.manifest.unbundle(got.Body)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := r.keep(name, parts[name]); err != nil {
			return err
		}
	}
	return nil
}

// fillSingly reads objects one by one, several at a time. What came and was right is kept also when another one failed.
func (r *Remote) fillSingly(ctx context.Context, names []string) error {
	var (
		next    atomic.Int64
		results sync.Mutex
		failed  error
		all     sync.WaitGroup
	)
	for range min(readers, len(names)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(names)); i = next.Add(1) - 1 {
				data, err := r.get(ctx, names[i], r.manifest.Objects[names[i]])
				results.Lock()
				if err == nil {
					err = r.keep(names[i], data)
				}
				if err != nil {
					failed = cmp.Or(failed, err)
					next.Store(int64(len(names))) // what others have begun they end
				}
				results.Unlock()
			}
		})
	}
	all.Wait()
	return failed
}

// get reads one object.
func (r *Remote) get(ctx context.Context, name string, o Object) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	got, err := r.source.Get(ctx, objectPath(o), "", o.Size)
	if err != nil {
		return nil, r.gone(fmt.Sprintf("object %q", name), err)
	}
	return got.Body, nil
}

// keep takes an object that is what the manifest says.
func (r *Remote) keep(name string, data []byte) error {
	o := r.manifest.Objects[name]
	if err := o.verify(name, contentOf(data)); err != nil {
		return err
	}
	r.have[o.SHA256] = data
	return nil
}

// gone says of a missing object what to do.
func (r *Remote) gone(what string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s of generation %d is missing: publish again, the manifest last: %w", what, r.manifest.Generation, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func objectPath(o Object) string { return path.Join(objectsDir, o.SHA256) }

func contentOf(data []byte) *content {
	return &content{data: data, sum: sha256.Sum256(data), stamp: stamp{size: int64(len(data))}}
}

// snapshot puts together what was read.
func (r *Remote) snapshot() (*Snapshot, error) {
	s := &Snapshot{Revision: r.revision, Cluster: r.cluster, Objects: map[string][]byte{}, Manifest: r.raw, Expires: r.manifest.Expires, Origin: r.String()}
	for _, name := range slices.Sorted(maps.Keys(r.manifest.Objects)) {
		o := r.manifest.Objects[name]
		switch {
		case !isObject(name):
			s.Notes = append(s.Notes, noteIgnored(name, false))
		case strings.HasPrefix(name, privateDir):
			s.Private = append(s.Private, host.Named{Name: name, Content: r.stored(name, o)})
		case strings.HasPrefix(name, filesDir+"/"):
			s.Files = append(s.Files, host.Named{Name: name, Content: r.stored(name, o)})
		default:
			s.Objects[name] = r.have[o.SHA256]
		}
	}
	return s, s.complete(r.String() + "/")
}

// stored is a content that stays in the store, unless the node has kept it itself.
func (r *Remote) stored(name string, o Object) host.Content {
	var digest host.Digest
	_, _ = hex.Decode(digest[:], []byte(o.SHA256)) // the manifest was checked
	generation := r.manifest.Generation
	return host.StoredContent(o.Size, digest, func() ([]byte, error) {
		if r.memory != nil {
			if data, err := r.memory.Blob(digest); err == nil && sum(data) == o.SHA256 {
				return data, nil
			}
		}
		ctx, cancel := context.WithTimeoutCause(context.Background(), lazyLimit, fmt.Errorf("no answer within %s: look at the store and the way to it", lazyLimit))
		defer cancel()
		got, err := r.source.Get(ctx, objectPath(o), "", o.Size)
		if err != nil {
			return nil, r.wrap(fmt.Errorf("object %q of generation %d: %w", name, generation, err))
		}
		return got.Body, o.verify(name, contentOf(got.Body))
	})
}
