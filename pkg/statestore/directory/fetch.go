package directory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
)

// Fetch implements [statestore.Store]. While nothing changes it costs a stat of each file, or of
// the manifest alone in a published cluster.
func (d *Directory) Fetch(ctx context.Context, last statestore.Revision) (*statestore.Snapshot, error) {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		snapshot, err := d.fetch(ctx, last)
		switch {
		case err == nil, errors.Is(err, statestore.ErrNotModified):
			return snapshot, err
		case errors.Is(err, fs.ErrNotExist) && attempt == 1: // a listed file may have been removed before it was read
		case !errors.Is(err, statestore.ErrChanged):
			return nil, d.wrap(err)
		case attempt == attempts:
			return nil, graph.Transient(d.wrap(err))
		}
		if !host.Sleep(ctx, pause) {
			return nil, d.wrap(context.Cause(ctx))
		}
		pause *= 2
	}
}

// fetch makes one attempt.
func (d *Directory) fetch(ctx context.Context, last statestore.Revision) (*statestore.Snapshot, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	start := time.Now()
	root, err := d.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()

	before, err := d.list(ctx, root, nil)
	if err != nil {
		return nil, err
	}
	if d.knows(before, last) {
		return nil, statestore.ErrNotModified
	}
	read := d.readUnsigned
	if before.published {
		read = d.readPublished
	}
	snapshot, err := read(ctx, root, before)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if after, again := d.list(ctx, root, before.dirs); again != nil || !slices.Equal(after.objects, before.objects) {
		return nil, statestore.ErrChanged // what was read, or the error, does not belong to one moment
	}
	if err != nil {
		return nil, err
	}
	if !before.changedSince(start.Add(-stableAge)) {
		d.remember(before, snapshot.Revision)
	}
	if snapshot.Revision == last {
		return nil, statestore.ErrNotModified
	}
	return snapshot, nil
}

// list returns the names and stamps of the cluster's files. earlier are the directories of a
// previous listing, or nil.
func (d *Directory) list(ctx context.Context, root *os.Root, earlier map[string]names) (*listing, error) {
	if _, err := root.Lstat(path.Join(d.cluster, manifest.Name)); err == nil {
		return scanManifest(root, d.cluster)
	}
	return scan(ctx, root, d.cluster, earlier)
}

// knows reports whether the files are the same as in the revision last.
func (d *Directory) knows(l *listing, last statestore.Revision) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return last != statestore.Revision{} && d.seen.revision == last && d.seen.sum == l.sum()
}

func (d *Directory) remember(l *listing, r statestore.Revision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = knowledge{l.sum(), r}
}

// Open implements [statestore.Store].
func (d *Directory) Open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if ctx.Err() != nil {
		return nil, 0, d.wrap(context.Cause(ctx))
	}
	if !manifest.ValidName(name) {
		return nil, 0, d.wrap(fmt.Errorf("asset %q is no path below the cluster's directory: write it as assets/NAME, "+
			"without \"..\"", name))
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

// stableAge is how much older than the read a file's ctime must be, so that an unchanged stat
// proves an unchanged file. Within one tick of the file system's clock a file can change twice and
// have the same time. 2 s is the coarsest clock (FAT), and allows for a difference to the clock of
// an NFS server.
const stableAge = 2 * time.Second
