package statestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/s3"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// OpenSink returns where a cluster is published: a directory, or a URL of those stores that can be
// written. It writes nothing yet.
func OpenSink(location, cluster string, o Options) (objectstore.Prunable, error) {
	if !validCluster(cluster) {
		return nil, fmt.Errorf("cluster name %q is no directory name: name it without slashes", cluster)
	}
	scheme, _, isURL := strings.Cut(location, "://")
	if !isURL {
		return newDirectorySink(location, cluster)
	}
	u, err := url.Parse(location)
	if err != nil { // it may hold a password
		return nil, errors.New("the URL to publish to does not parse: write it as scheme://host/path, with special " +
			"characters percent-encoded and an IPv6 address in brackets, as in https://[fd00::1]:8443/path")
	}
	switch scheme {
	case "file":
		return newDirectorySink(u.Path, cluster)
	case "s3":
		return s3.New(u, cluster, s3.Settings{CA: o.HTTPS.CA})
	case "k8s":
		return namespaceOf(u, cluster, o)
	case "https":
		return nil, problem.StoreLocation.Errorf("publish to %s: https:// can only be read: publish to a directory, "+
			"and serve that", u.Redacted())
	}
	return nil, problem.StoreLocation.Errorf("publish to %s: no scheme %q can be published to: use a directory or "+
		"s3://", u.Redacted(), scheme)
}

// directorySink publishes into a directory of this machine. Each file is replaced by a rename, and
// the manifest under a lock.
type directorySink struct {
	dir     string          // of the cluster, absolute
	private map[string]bool // objects that only the owner may read
}

// sinks keeps the publishers of one process apart: the lock of the file keeps those of other
// processes.
var sinks sync.Mutex

func newDirectorySink(dir, cluster string) (*directorySink, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory %q: %w", dir, err)
	}
	return &directorySink{dir: filepath.Join(abs, cluster)}, nil
}

var _ objectstore.Sink = (*directorySink)(nil)

func (d *directorySink) String() string { return d.dir }

func (d *directorySink) path(name string) string {
	return filepath.Join(d.dir, filepath.FromSlash(name))
}

// Get implements [objectstore.Source]. The ETag is the content's hash.
func (d *directorySink) Get(ctx context.Context, name, known string, limit int64) (objectstore.Object, error) {
	if ctx.Err() != nil {
		return objectstore.Object{}, context.Cause(ctx)
	}
	data, err := os.ReadFile(d.path(name))
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
func (d *directorySink) Open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	got, err := d.Get(ctx, name, "", MaxObjectSize)
	if err != nil {
		return nil, 0, err
	}
	return io.NopCloser(strings.NewReader(string(got.Body))), int64(len(got.Body)), nil
}

// Put implements [objectstore.Sink]. An object that is not what its name says is written again.
func (d *directorySink) Put(ctx context.Context, name string, data []byte) error {
	if got, err := d.Get(ctx, name, "", int64(len(data))); err == nil && trust.Digest(got.Body) == trust.Digest(data) {
		return nil
	}
	return d.write(ctx, name, data)
}

// Replace implements [objectstore.Sink].
func (d *directorySink) Replace(ctx context.Context, name string, data []byte, known string) error {
	sinks.Lock()
	defer sinks.Unlock()
	unlock, err := ipc.Lock(ctx, hostfs.Options{Root: "/"}, d.path(".publish.lock"), nil)
	if err != nil {
		return fmt.Errorf("be the only one who publishes to %s: %w", d, err)
	}
	defer unlock()
	switch got, err := d.Get(ctx, name, "", maxManifestSize*2); {
	case errors.Is(err, fs.ErrNotExist) && known == "":
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case got.ETag != known:
		return objectstore.ErrConflict
	}
	return d.write(ctx, name, data)
}

func (d *directorySink) write(ctx context.Context, name string, data []byte) error {
	w, err := host.OpenFileWriter(host.Options{AnyLinks: true})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	defer w.Close() // every write was synced and checked where it was made
	mode := fs.FileMode(0o644)
	if d.private[name] {
		mode = 0o600
	}
	return w.WriteFile(ctx, d.path(name), data, mode)
}
