package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// MapStore is an object store in memory, for tests of readers and publishers. Its zero value is
// empty.
type MapStore struct {
	mu      sync.Mutex
	objects map[string][]byte
	put     map[string]time.Time // when each was written
	gets    []string             // the names that were asked for, with "=" before one that was not modified
}

var _ objectstore.Destination = (*MapStore)(nil)

// String implements [objectstore.Source].
func (m *MapStore) String() string { return "memory://" + Cluster }

// Set puts an object, or removes it if data is nil.
func (m *MapStore) Set(name string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(name, data)
}

func (m *MapStore) set(name string, data []byte) {
	if m.objects == nil {
		m.objects, m.put = map[string][]byte{}, map[string]time.Time{}
	}
	m.put[name] = time.Now()
	if m.objects[name] = data; data == nil {
		delete(m.objects, name)
	}
}

// Gets lists the names that were asked for since the last call, in order, with "=" before each
// object that was not modified.
func (m *MapStore) Gets() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	gets := m.gets
	m.gets = nil
	return gets
}

// Get implements [objectstore.Source]. The body is not to be changed.
func (m *MapStore) Get(ctx context.Context, name, known string, limit int64) (objectstore.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return objectstore.Object{}, context.Cause(ctx)
	}
	data, ok := m.objects[name]
	tag := etag(data)
	if ok && tag == known {
		m.gets = append(m.gets, "="+name)
		return objectstore.Object{}, objectstore.ErrNotModified
	}
	m.gets = append(m.gets, name)
	switch {
	case !ok:
		return objectstore.Object{}, fmt.Errorf("get %s: %w", name, fs.ErrNotExist)
	case int64(len(data)) > limit:
		return objectstore.Object{}, fmt.Errorf("get %s: more than %d bytes", name, limit)
	}
	return objectstore.Object{Body: data, ETag: tag}, nil
}

// Open implements [objectstore.Source].
func (m *MapStore) Open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	data, ok := m.objects[name]
	if !ok {
		return nil, 0, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
}

// Put implements [objectstore.Destination].
func (m *MapStore) Put(ctx context.Context, name string, data []byte) error {
	err := m.Replace(ctx, name, data, "")
	if errors.Is(err, objectstore.ErrConflict) {
		return nil
	}
	return err
}

// Replace implements [objectstore.Destination].
func (m *MapStore) Replace(ctx context.Context, name string, data []byte, known string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, ok := m.objects[name]
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case ok != (known != ""), ok && etag(old) != known:
		return objectstore.ErrConflict
	}
	m.set(name, bytes.Clone(data))
	return nil
}

// List implements [objectstore.Destination].
func (m *MapStore) List(ctx context.Context, prefix string, each func(objectstore.Listed) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.mu.Lock()
	var list []objectstore.Listed
	for name, data := range m.objects {
		if strings.HasPrefix(name, prefix) {
			list = append(list, objectstore.Listed{Name: name, Size: int64(len(data)), Put: m.put[name]})
		}
	}
	m.mu.Unlock()
	for _, one := range list {
		if err := each(one); err != nil {
			return err
		}
	}
	return nil
}

// Remove implements [objectstore.Destination].
func (m *MapStore) Remove(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.Set(name, nil)
	return nil
}

func etag(data []byte) string { return fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(data))) }

// Publication returns what the publication of objects as a generation of Cluster writes, by name:
// the objects, a bundle if bundle is true, and the manifest.
func Publication(generation int64, objects map[string][]byte, bundle bool) map[string][]byte {
	all := map[string][]byte{}
	m := manifest.New(Cluster, generation, objects)
	for name, data := range objects {
		all["objects/sha256/"+m.Objects[name].SHA256] = data
	}
	if bundle {
		data := m.AddBundle(objects)
		all["objects/sha256/"+m.Bundle.SHA256] = data
	}
	all["manifest"] = m.Encode()
	return all
}

// Tampered returns the names under which the content of a published object is stored, each with
// changed content of the same length to put there.
func Tampered(publication map[string][]byte, object []byte) map[string][]byte {
	out := map[string][]byte{}
	for name, data := range publication {
		if i := bytes.Index(data, object); strings.HasPrefix(name, "objects/") && i >= 0 {
			bad := bytes.Clone(data)
			bad[i] ^= 1
			out[name] = bad
		}
	}
	return out
}
