package directory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// Writer publishes into a directory of this machine. It replaces each file with a rename, and the
// manifest under a lock.
type Writer struct {
	dir     string          // of the cluster, absolute
	Private map[string]bool // objects that only the owner may read
}

// sinks is locked while a manifest is replaced, against other goroutines of this process. The lock
// file works between processes.
var sinks sync.Mutex

// NewWriter returns a Writer for a cluster. The directory need not exist yet.
func NewWriter(dir, cluster string) (*Writer, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory %q: %w", dir, err)
	}
	return &Writer{dir: filepath.Join(abs, cluster)}, nil
}

var _ objectstore.Destination = (*Writer)(nil)

func (d *Writer) String() string { return d.dir }

func (d *Writer) path(name string) string {
	return filepath.Join(d.dir, filepath.FromSlash(name))
}

// Get implements [objectstore.Source]. The ETag is the content's hash.
func (d *Writer) Get(ctx context.Context, name, known string, limit int64) (objectstore.Object, error) {
	if ctx.Err() != nil {
		return objectstore.Object{}, context.Cause(ctx)
	}
	data, err := blob.ReadFile(d.path(name))
	switch {
	case err != nil:
		return objectstore.Object{}, explain("read", name, err)
	case int64(len(data)) > limit:
		return objectstore.Object{},
			fmt.Errorf("read %q: it has %d bytes, at most %d are expected", name, len(data), limit)
	case trust.Digest(data) == known:
		return objectstore.Object{}, objectstore.ErrNotModified
	}
	return objectstore.Object{Body: data, ETag: trust.Digest(data)}, nil
}

// Open implements [objectstore.Source].
func (d *Writer) Open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	got, err := d.Get(ctx, name, "", manifest.MaxObjectSize)
	if err != nil {
		return nil, 0, err
	}
	return io.NopCloser(strings.NewReader(string(got.Body))), int64(len(got.Body)), nil
}

// Put implements [objectstore.Destination]. It writes an existing object again if its content does
// not match its name.
func (d *Writer) Put(ctx context.Context, name string, data []byte) error {
	if got, err := d.Get(ctx, name, "", int64(len(data))); err == nil && trust.Digest(got.Body) == trust.Digest(data) {
		return nil
	}
	return d.write(ctx, name, data)
}

// Replace implements [objectstore.Destination].
func (d *Writer) Replace(ctx context.Context, name string, data []byte, known string) error {
	sinks.Lock()
	defer sinks.Unlock()
	unlock, err := ipc.Lock(ctx, hostfs.Options{Root: "/"}, d.path(".publish.lock"), nil)
	if err != nil {
		return fmt.Errorf("lock %s for publishing: %w", d, err)
	}
	defer unlock()
	switch got, err := d.Get(ctx, name, "", manifest.MaxSize*2); {
	case errors.Is(err, fs.ErrNotExist) && known == "":
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case got.ETag != known:
		return objectstore.ErrConflict
	}
	return d.write(ctx, name, data)
}

func (d *Writer) write(ctx context.Context, name string, data []byte) error {
	w, err := host.OpenFileWriter(host.Options{AnyLinks: true})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	defer w.Close() // WriteFile has synced and checked every write
	mode := fs.FileMode(0o644)
	if d.Private[name] {
		mode = 0o600
	}
	return w.WriteFile(ctx, d.path(name), data, mode)
}
