package directory

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// readPublished reads the manifest and its objects, and verifies each.
func (d *Directory) readPublished(ctx context.Context, root *os.Root, l *listing) (*statestore.Snapshot, error) {
	r := reader{root: root, cluster: d.cluster}
	defer r.leave()
	raw := r.read(wanted{path: manifest.Name}, manifest.MaxSize+trust.MaxSignaturesSize)
	if raw.err != nil {
		return nil, raw.err
	}
	m, digest, err := manifest.Open(raw.data, d.cluster, d.String(), d.policy(l))
	if err != nil {
		return nil, err
	}
	var all []wanted
	var notes []string
	var left []blob.Named     // private keys that this node may not read, or that are not copied yet
	open := map[string]bool{} // private keys that every node reads
	for _, name := range slices.Sorted(maps.Keys(m.Objects)) {
		if !manifest.IsPublished(name) {
			notes = append(notes, manifest.NoteIgnored(name, false))
			continue
		}
		at := m.Objects[name].Path()
		if manifest.IsPrivate(name) {
			if _, err := root.Stat(path.Join(d.cluster, at)); err == nil {
				open[name] = true
			} else {
				at = m.Objects[name].ControlPlanePath()
			}
		}
		all = append(all, wanted{name: name, path: at})
	}
	got := d.readAll(ctx, root, all)
	order := make([]int32, 0, len(all)) // all is sorted by name
	for i := range got {
		name, c := all[i].name, &got[i]
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case manifest.IsPrivate(name) && !open[name] &&
			(errors.Is(c.err, fs.ErrNotExist) || errors.Is(c.err, fs.ErrPermission)):
			left = append(left, blob.Named{Name: name, Content: d.leftThere(name, m)})
			continue
		case errors.Is(c.err, fs.ErrNotExist):
			return nil, problem.StoreDamaged.Errorf("object %q of generation %d is missing: publish again, the "+
				"manifest last: %w", name, m.Generation, c.err)
		case c.err != nil:
			return nil, c.err
		}
		if err := m.Objects[name].Verify(name, c.size, c.sum); err != nil {
			return nil, err
		}
		order = append(order, int32(i))
	}
	s, err := d.snapshot(statestore.Revision{Generation: m.Generation, Digest: digest}, all, got, order, notes)
	if err != nil {
		return nil, err
	}
	s.Manifest, s.Published, s.Expires, s.Private = raw.data, m.Published, m.Expires, left
	s.Verify = func(context.Context) error { return d.verifyBundle(m) }
	s.ReadByAll = func(_ context.Context, name string) (bool, error) { return open[name], nil }
	return s, nil
}

// verifyBundle verifies the bundle. A reader of the directory does not use the bundle, but nodes
// that read the store over a network boot from it.
func (d *Directory) verifyBundle(m *manifest.Manifest) error {
	if m.Bundle == nil {
		return nil
	}
	root, err := d.openRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	r := reader{root: root, cluster: d.cluster}
	defer r.leave()
	c := r.read(wanted{name: manifest.BundleName, path: m.Bundle.Path()}, manifest.MaxSnapshotSize)
	switch {
	case errors.Is(c.err, fs.ErrNotExist):
		return d.wrap(problem.StoreDamaged.Errorf("%s of generation %d is missing: publish again: %w", manifest.BundleName,
			m.Generation, c.err))
	case c.err != nil:
		return d.wrap(c.err)
	}
	return m.Bundle.Verify(manifest.BundleName, c.size, c.sum)
}

// leftThere returns a private key that could not be read. Its reader gets a transient error while
// the key is missing, because a program that copies the store may copy the key after the manifest.
func (d *Directory) leftThere(name string, m *manifest.Manifest) blob.Content {
	o := m.Objects[name]
	return o.Stored(func() ([]byte, error) {
		for _, at := range []string{o.Path(), o.ControlPlanePath()} {
			data, err := d.readOne(at, o.Digest())
			switch {
			case err == nil:
				return data, nil
			case !errors.Is(err, fs.ErrNotExist):
				return nil, d.wrap(err)
			}
		}
		return nil, graph.Transient(d.wrap(problem.Missing("object %q of generation %d is missing: publish again, the "+
			"manifest last", name, m.Generation)))
	})
}
