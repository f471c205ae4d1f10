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

	"github.com/netwright/netwright/pkg/statestore/trust"
)

// scanManifest lists the manifest alone: what it names is never changed, only joined by others.
func scanManifest(_ context.Context, root *os.Root, cluster string, _ *listing) (*listing, error) {
	info, err := root.Stat(path.Join(cluster, manifestName))
	if err != nil {
		return nil, explain("read", manifestName, err)
	}
	e := seenAs(info, nil)
	return &listing{objects: []listed{{manifestName, e.stamp}}, foreign: e.foreign(false, cluster, manifestName)}, nil
}

// readPublished reads the manifest and the objects that it names, and verifies each.
func (d *Directory) readPublished(ctx context.Context, root *os.Root, l *listing) (*Snapshot, error) {
	r := reader{root: root, cluster: d.cluster}
	defer r.leave()
	raw := r.read(wanted{path: manifestName}, maxManifestSize+trust.MaxSignaturesSize)
	if raw.err != nil {
		return nil, raw.err
	}
	m, revision, err := openManifest(raw.data, d.cluster, d.String(), d.policy(l))
	if err != nil {
		return nil, err
	}
	var all []wanted
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(m.Objects)) {
		if !isObject(name) {
			notes = append(notes, noteIgnored(name, false))
			continue
		}
		all = append(all, wanted{name: name, path: path.Join(objectsDir, m.Objects[name].SHA256)})
	}
	got := d.readAll(ctx, root, all)
	for i := range got {
		name, c := all[i].name, &got[i]
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(c.err, fs.ErrNotExist):
			return nil, fmt.Errorf("object %q of generation %d is missing: publish again, the manifest last: %w", name, m.Generation, c.err)
		case c.err != nil:
			return nil, c.err
		}
		if err := m.Objects[name].verify(name, c); err != nil {
			return nil, err
		}
	}
	order := make([]int32, len(all)) // they are sorted already
	for i := range order {
		order[i] = int32(i)
	}
	s, err := d.snapshot(revision, all, got, order, notes)
	if err != nil {
		return nil, err
	}
	s.Manifest, s.Expires = raw.data, m.Expires
	return s, nil
}
