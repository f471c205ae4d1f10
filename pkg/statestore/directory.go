package statestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// Directory is a store in a directory of this machine, plain or published. It is read and never
// written.
type Directory struct {
	dir     string // absolute
	cluster string
	memory  Memory        // nil: none
	trust   *trust.Policy // nil: whatever is there is taken

	mu    sync.Mutex
	known knowledge
}

// knowledge is what the last reading found, so that the next one need not read.
type knowledge struct {
	objects  []listed // all files; equal when nothing happened to any
	revision Revision
}

var _ Store = (*Directory)(nil)

// NewDirectory returns the store in dir for one cluster, which is a directory in it. It reads
// nothing yet.
func NewDirectory(dir, cluster string) (*Directory, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory of the state store %q: %w", dir, err)
	}
	return &Directory{dir: abs, cluster: cluster}, nil
}

// Remember gives the store a memory, before it is used.
func (d *Directory) Remember(m Memory) { d.memory = m }

// String implements [Store].
func (d *Directory) String() string { return filepath.Join(d.dir, d.cluster) }

// How often a directory that changes under the reader is read again, and the pauses between: 10 ms,
// doubled.
const (
	attempts   = 6
	firstPause = 10 * time.Millisecond
)

// settled is how much older than the reading a file's ctime must be for stat to vouch for it.
// Within one tick of the file system's clock a file can change twice under one time stamp; 2 s is
// the coarsest clock there is (FAT), and kind to a server's clock of NFS.
const settled = 2 * time.Second

// errChanged says that the store changed while it was read.
var errChanged = errors.New("it kept changing while it was read: write each file aside and rename it, or publish")

// Fetch implements [Store]. While nothing changes it costs a stat of each file, or of the manifest
// alone.
func (d *Directory) Fetch(ctx context.Context, last Revision) (*Snapshot, error) {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		snapshot, err := d.fetch(ctx, last)
		switch {
		case err == nil, errors.Is(err, ErrNotModified):
			return snapshot, err
		case errors.Is(err, fs.ErrNotExist) && attempt == 1: // a listed file may be gone again before it is looked at
		case !errors.Is(err, errChanged):
			return nil, d.wrap(err)
		case attempt == attempts:
			return nil, graph.Transient(d.wrap(err))
		}
		select {
		case <-ctx.Done():
			return nil, d.wrap(context.Cause(ctx))
		case <-time.After(pause):
			pause *= 2
		}
	}
}

func (d *Directory) wrap(err error) error { return fmt.Errorf("state store %s: %w", d, err) }

// fetch is one attempt.
func (d *Directory) fetch(ctx context.Context, last Revision) (*Snapshot, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	start := time.Now()
	root, err := d.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()

	read, see := d.readPlain, scan
	if _, err := root.Lstat(path.Join(d.cluster, manifestName)); err == nil {
		read, see = d.readPublished, scanManifest
	}
	before, err := see(ctx, root, d.cluster, nil)
	if err != nil {
		return nil, err
	}
	if d.knows(before.objects, last) {
		return nil, ErrNotModified
	}
	snapshot, err := read(ctx, root, before)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if after, again := see(ctx, root, d.cluster, before); again != nil || !slices.Equal(after.objects, before.objects) {
		return nil, errChanged // whatever was read, or went wrong, was of no one moment
	}
	if err != nil {
		return nil, err
	}
	if before.newest() < start.Add(-settled).UnixNano() {
		d.remember(before.objects, snapshot.Revision)
	}
	if snapshot.Revision == last {
		return nil, ErrNotModified
	}
	return snapshot, nil
}

// knows tells that the files are those of which last was read.
func (d *Directory) knows(objects []listed, last Revision) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return last != Revision{} && d.known.revision == last && slices.Equal(d.known.objects, objects)
}

func (d *Directory) remember(objects []listed, r Revision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = knowledge{objects, r}
}

// openRoot opens the store's directory and makes sure that the cluster is in it.
func (d *Directory) openRoot() (*os.Root, error) {
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, explainDir(d.dir, err)
	}
	info, err := root.Stat(d.cluster)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("it is a %s, a directory with cluster.yaml is expected", typeWord(info.Mode()))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = d.noCluster(root)
	} else if err != nil {
		err = explain("open", ".", err)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// noCluster says which clusters there are instead.
func (d *Directory) noCluster(root *os.Root) error {
	names, err := readNames(root)
	if err != nil {
		return explain("list", ".", err)
	}
	var clusters []string
	for _, name := range names {
		if name == clusterDocument {
			return problem.StoreMissing.Because(fs.ErrNotExist, "no cluster %q in it: it is itself a cluster's directory, so set store to %s and cluster to %s",
				d.cluster, filepath.Dir(d.dir), filepath.Base(d.dir))
		}
		if holdsCluster(root, name) {
			clusters = append(clusters, name)
		}
	}
	if len(clusters) == 0 {
		return problem.StoreMissing.Because(fs.ErrNotExist, "no cluster %q in it, nor any other: put the cluster's documents into %s", d.cluster, d)
	}
	more := ""
	if n := len(clusters) - mostClusters; n > 0 {
		clusters, more = clusters[:mostClusters], fmt.Sprintf(" and %d more", n)
	}
	return problem.StoreMissing.Because(fs.ErrNotExist, "no cluster %q in it: it has %s%s; set cluster to one of them", d.cluster, strings.Join(clusters, ", "), more)
}

// Open implements [Store].
func (d *Directory) Open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if ctx.Err() != nil {
		return nil, 0, d.wrap(context.Cause(ctx))
	}
	if !validName(name) {
		return nil, 0, d.wrap(fmt.Errorf("asset %q is no path below the cluster's directory: write it as assets/NAME, without \"..\"", name))
	}
	root, err := d.openRoot()
	if err != nil {
		return nil, 0, d.wrap(err)
	}
	defer root.Close()
	r := reader{root: root, cluster: d.cluster}
	defer r.leave()
	f, at, err := r.open(name)
	if err != nil {
		return nil, 0, d.wrap(explain("open", name, err))
	}
	return f, at.size, nil
}
