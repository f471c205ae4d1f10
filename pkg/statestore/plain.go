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
	"syscall"
)

// readPlain reads the listed documents and makes up their manifest.
func (d *Directory) readPlain(ctx context.Context, root *os.Root, l *listing) (*Snapshot, error) {
	objects := make(map[string][]byte, len(l.stamps))
	var total int64
	for _, name := range l.names() {
		data, err := d.read(ctx, root, name, MaxObjectSize)
		if err != nil {
			return nil, err
		}
		if int64(len(data)) != l.stamps[name].size {
			return nil, errChanged
		}
		objects[name] = data
		if total += int64(len(data)); total > MaxSnapshotSize {
			return nil, checkTotal(total)
		}
	}
	return d.snapshot(Revision{Digest: sum(NewManifest(d.cluster, 0, objects).Encode())}, objects, l.notes)
}

// snapshot puts together what was read.
func (d *Directory) snapshot(r Revision, objects map[string][]byte, notes []string) (*Snapshot, error) {
	if _, ok := objects[clusterDocument]; !ok {
		return nil, fmt.Errorf("%s is missing: write a document of kind Cluster there: %w", filepath.Join(d.String(), clusterDocument), fs.ErrNotExist)
	}
	return &Snapshot{Revision: r, Cluster: d.cluster, Objects: objects, Origin: d.String(), Notes: notes}, nil
}

// read returns a file below the cluster's directory, of at most limit bytes.
func (d *Directory) read(ctx context.Context, root *os.Root, name string, limit int64) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f, _, err := openRegular(root, path.Join(d.cluster, name))
	if err != nil {
		return nil, explain("read", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, explain("read", name, err)
	}
	if int64(len(data)) > limit {
		return nil, tooBig(name, int64(len(data)))
	}
	return data, nil
}

// openRegular opens a regular file; it does not hang on a pipe that somebody put there.
func openRegular(root *os.Root, name string) (*os.File, int64, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it is a %s, a file is expected", typeWord(info.Mode()))
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}
