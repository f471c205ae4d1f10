package directory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// readUnsigned reads the listed documents and makes a manifest for them.
func (d *Directory) readUnsigned(ctx context.Context, root *os.Root, l *listing) (*statestore.Snapshot, error) {
	all := make([]wanted, len(l.objects))
	for i := range l.objects {
		o := &l.objects[i]
		all[i] = wanted{path: o.name, name: o.name, seen: &o.stamp}
	}
	got := d.readAll(ctx, root, all)
	order := make([]int32, len(all)) // sorted by name
	var total int64
	var names int
	for i := range got {
		c := &got[i]
		switch total += c.size; {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case c.err != nil:
			return nil, c.err
		case c.changed || c.stamp != l.objects[i].stamp:
			return nil, statestore.ErrChanged
		case total > manifest.MaxSnapshotSize:
			return nil, manifest.CheckTotal(total)
		}
		order[i], names = int32(i), names+len(all[i].name)
	}
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(all[a].name, all[b].name) })
	e := manifest.New(d.cluster, 0, nil).Encoder(len(all), names)
	var digits [2 * sha256.Size]byte
	for _, at := range order {
		hex.Encode(digits[:], got[at].sum[:])
		e.Object(all[at].name, string(digits[:]), got[at].size)
	}
	out := e.End()
	if d.trust != nil {
		if err := d.trust.CheckOwn(out, d.untrustedOwner(l)); err != nil {
			return nil, err
		}
	}
	s, err := d.snapshot(statestore.Revision{Digest: trust.Digest(out)}, all, got, order, l.notes)
	if err != nil {
		return nil, err
	}
	s.Manifest = out
	return s, nil
}

// snapshot returns a snapshot of what was read. order is sorted by name.
func (d *Directory) snapshot(
	r statestore.Revision, all []wanted, got []content, order []int32, notes []string,
) (*statestore.Snapshot, error) {
	s := &statestore.Snapshot{Revision: r, Cluster: d.cluster, Objects: map[string][]byte{}, Origin: d.String(), Notes: notes,
		Files: make([]blob.Named, 0, len(all))}
	for _, i := range order {
		switch w := &all[i]; {
		case manifest.IsFile(w.name):
			s.Files = append(s.Files, blob.Named{Name: w.name, Content: d.stored(w.path, &got[i])})
		case w.name == manifest.NoteName:
			s.Note = manifest.NoteOf(got[i].data)
		default:
			s.Objects[w.name] = got[i].data
		}
	}
	return s, s.Complete()
}

// stored returns a content that stays in the store. If the store no longer has it, the cache is
// read.
func (d *Directory) stored(path string, c *content) blob.Content {
	sum := c.sum
	return blob.Stored(c.size, sum, func() ([]byte, error) {
		data, err := d.readOne(path, sum)
		if err == nil {
			return data, nil
		}
		if d.cache != nil {
			if data, kept := d.cache.Blob(sum); kept == nil {
				return data, nil
			}
		}
		return nil, d.wrap(err)
	})
}
