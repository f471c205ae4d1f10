package statestore

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// readPlain reads the listed documents and makes up their manifest.
func (d *Directory) readPlain(ctx context.Context, root *os.Root, l *listing) (*Snapshot, error) {
	names := make([]string, len(l.objects))
	for i, o := range l.objects {
		names[i] = o.name
	}
	objects := make(map[string][]byte, len(names))
	m := newManifest(d.cluster, 0, len(names))
	var total int64
	for i, c := range d.readAll(ctx, root, names) {
		name, size := names[i], int64(len(c.data))
		switch total += size; {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case c.err != nil:
			return nil, c.err
		case size != c.size || c.stamp != l.objects[i].stamp:
			return nil, errChanged
		case total > MaxSnapshotSize:
			return nil, checkTotal(total)
		}
		objects[name] = c.data
		m.Objects[name] = Object{SHA256: c.sum, Size: size}
	}
	return d.snapshot(Revision{Digest: sum(m.Encode())}, objects, l.notes)
}

// snapshot puts together what was read.
func (d *Directory) snapshot(r Revision, objects map[string][]byte, notes []string) (*Snapshot, error) {
	if _, ok := objects[clusterDocument]; !ok {
		return nil, fmt.Errorf("%s is missing: write a document of kind Cluster there: %w", filepath.Join(d.String(), clusterDocument), fs.ErrNotExist)
	}
	return &Snapshot{Revision: r, Cluster: d.cluster, Objects: objects, Origin: d.String(), Notes: notes}, nil
}
