package publisher

import (
	"context"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// Past is one generation of a published cluster, as its record has it.
type Past struct {
	Generation int64     `json:"generation"`
	Digest     string    `json:"digest"`
	Published  time.Time `json:"published,omitzero"`
	Expires    time.Time `json:"expires,omitzero"`
	manifest.Note
	Objects int  `json:"objects"`
	Current bool `json:"inForce,omitempty"` // whether nodes take this generation now
	// Several reports whether several records have this number. One of them was published. For the
	// others only the objects were uploaded.
	Several bool `json:"several,omitempty"`
	// Error says why the record or its note cannot be read.
	Error string `json:"error,omitempty"`

	manifest *manifest.Manifest
}

// History lists the last generations that the store has a record of, the newest first. It is an
// error if nothing was published there.
func History(
	ctx context.Context, from objectstore.Destination, cluster string, last int,
) (list []Past, err error) {
	defer within(&err, "list the generations of", from)
	now, records, err := recorded(ctx, from, cluster)
	if err != nil {
		return nil, err
	}
	slices.Reverse(records)
	list = make([]Past, 0, min(last, len(records)))
	for i, r := range records[:min(last, len(records))] {
		p := r.past(ctx, from, cluster)
		p.Current = p.Digest == now
		p.Several = i > 0 && records[i-1].number == r.number || i+1 < len(records) && records[i+1].number == r.number
		list = append(list, p)
	}
	return list, nil
}

// recorded returns the records of a cluster by number, with the published one, and the digest of
// the published one.
func recorded(
	ctx context.Context, from objectstore.Destination, cluster string,
) (now string, records generations, err error) {
	raw, m, err := current(ctx, from, cluster)
	switch {
	case err != nil:
		return "", nil, err
	case m.Generation == 0:
		return "", nil, problem.Missing("nothing is published there: check the store and the cluster that you named")
	}
	statement, _, err := trust.Split(raw.Body)
	if err != nil {
		return "", nil, err
	}
	now = trust.Digest(statement)
	if records, err = listGenerations(ctx, from); err != nil {
		return "", nil, err
	}
	// an agent of an earlier release published it without a record
	if !slices.ContainsFunc(records, func(r generation) bool { return r.digest == now }) {
		records = append(records, generation{name: manifest.Name, number: m.Generation, digest: now})
		slices.SortStableFunc(records, byNumber)
	}
	return now, records, nil
}

// past reads the manifest and the note of a record.
func (r generation) past(ctx context.Context, from objectstore.Source, cluster string) Past {
	p := Past{Generation: r.number, Digest: r.digest}
	m, err := r.manifest(ctx, from, cluster)
	if err == nil {
		p.manifest, p.Published, p.Expires, p.Objects = m, m.Published, m.Expires, m.Count()
		var note []byte
		note, err = m.ReadNote(ctx, from)
		p.Note = manifest.NoteOf(note)
	}
	if err != nil {
		p.Error = err.Error()
	}
	return p
}

// manifest returns the manifest in the record, or the published manifest if it has no record.
func (r generation) manifest(ctx context.Context, from objectstore.Source, cluster string) (*manifest.Manifest, error) {
	if r.name != manifest.Name {
		return r.read(ctx, from, cluster)
	}
	_, m, err := current(ctx, from, cluster)
	return m, err
}
