package statestore

import (
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
)

// readPlain reads the listed documents and makes up their manifest.
func (d *Directory) readPlain(ctx context.Context, root *os.Root, l *listing) (*Snapshot, error) {
	all := make([]wanted, len(l.objects))
	for i := range l.objects {
		o := &l.objects[i]
		all[i] = wanted{path: o.name, name: o.name, seen: &o.stamp}
	}
	entries := make([]entry, len(all))
	got := d.readAll(ctx, root, all)
	var total int64
	for i := range got {
		c := &got[i]
		switch total += c.size; {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case c.err != nil:
			return nil, c.err
		case c.short || c.stamp != l.objects[i].stamp:
			return nil, errChanged
		case total > MaxSnapshotSize:
			return nil, checkTotal(total)
		}
		entries[i] = entry{all[i].name, Object{SHA256: hex.EncodeToString(c.sum[:]), Size: c.size}}
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	m := newManifest(d.cluster, 0, 0)
	return d.snapshot(Revision{Digest: sum(m.encode(entries))}, all, got, l.notes)
}

// snapshot puts together what was read.
func (d *Directory) snapshot(r Revision, all []wanted, got []content, notes []string) (*Snapshot, error) {
	s := &Snapshot{Revision: r, Cluster: d.cluster, Objects: map[string][]byte{}, Origin: d.String(), Notes: notes}
	files := 0
	for _, w := range all {
		if w.isFile() {
			files++
		}
	}
	s.Files = make([]host.Named, 0, files)
	for i, w := range all {
		if w.isFile() {
			s.Files = append(s.Files, host.Named{Name: w.name, Content: d.stored(w.path, &got[i])})
		} else {
			s.Objects[w.name] = got[i].data
		}
	}
	slices.SortFunc(s.Files, func(a, b host.Named) int { return strings.Compare(a.Name, b.Name) })
	if _, ok := s.Objects[clusterDocument]; !ok {
		return nil, fmt.Errorf("%s is missing: write a document of kind Cluster there: %w", filepath.Join(d.String(), clusterDocument), fs.ErrNotExist)
	}
	return s, nil
}

// stored is a content that stays in the store. When it is gone there, what the node has kept itself will do.
func (d *Directory) stored(path string, c *content) host.Content {
	sum := c.sum
	return host.StoredContent(c.size, sum, func() ([]byte, error) {
		data, err := d.readOne(path, sum)
		if err == nil {
			return data, nil
		}
		if d.memory != nil {
			if data, kept := d.memory.Blob(sum); kept == nil {
				return data, nil
			}
		}
		return nil, d.wrap(err)
	})
}
