package statestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
)

// scanManifest lists the manifest alone: what it names is never changed, only joined by others.
func scanManifest(_ context.Context, root *os.Root, cluster string) (*listing, error) {
	info, err := root.Stat(path.Join(cluster, manifestName))
	if err != nil {
		return nil, explain("read", manifestName, err)
	}
	s := stampOf(info)
	return &listing{stamps: map[string]stamp{manifestName: s}, newest: s.ctime}, nil
}

// readPublished reads the manifest and the objects that it names, and verifies each.
func (d *Directory) readPublished(ctx context.Context, root *os.Root, _ *listing) (*Snapshot, error) {
	raw, err := d.read(ctx, root, manifestName, maxManifestSize)
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(raw, d.cluster)
	if err != nil {
		return nil, err
	}
	objects := make(map[string][]byte, len(m.Objects))
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(m.Objects)) {
		if !isObject(name) {
			notes = append(notes, noteIgnored(name, false))
			continue
		}
		o := m.Objects[name]
		data, err := d.read(ctx, root, path.Join(objectsDir, o.SHA256), MaxObjectSize)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("object %q of generation %d is missing: publish again, the manifest last: %w", name, m.Generation, err)
		} else if err != nil {
			return nil, err
		}
		if err := o.verify(name, data); err != nil {
			return nil, err
		}
		objects[name] = data
	}
	return d.snapshot(Revision{Generation: m.Generation, Digest: sum(raw)}, objects, notes)
}
