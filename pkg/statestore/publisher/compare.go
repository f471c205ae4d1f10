package publisher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// Compared is the result of [Compare].
type Compared struct {
	Cluster string       `json:"cluster"`
	From    Past         `json:"from"`
	To      Past         `json:"to"`
	Objects []Difference `json:"objects"` // by name
}

// Difference is an object that differs between two generations.
type Difference struct {
	Name   string           `json:"name"`
	Before *manifest.Object `json:"before,omitempty"` // nil if the object is new
	After  *manifest.Object `json:"after,omitempty"`  // nil if the object was removed
	// Texts reports whether the contents are documents, which may be shown. The contents of keys,
	// certificates and files are not read.
	Texts         bool   `json:"-"`
	Former, Later []byte `json:"-"`
}

// Compare lists the objects that differ between two generations. from and to are each a generation
// number, the beginning of a sha256, or "" for the published generation.
func Compare(
	ctx context.Context, store objectstore.Destination, cluster, from, to string,
) (out *Compared, err error) {
	defer within(&err, "compare generations of", store)
	now, records, err := recorded(ctx, store, cluster)
	if err != nil {
		return nil, err
	}
	out = &Compared{Cluster: cluster, Objects: []Difference{}}
	for _, side := range []struct {
		name string
		of   *Past
	}{{from, &out.From}, {to, &out.To}} {
		r, err := records.named(side.name, now)
		if err != nil {
			return nil, err
		}
		*side.of = r.past(ctx, store, cluster)
		if side.of.manifest == nil {
			return nil, problem.StoreDamaged.Errorf("%s", side.of.Error)
		}
		side.of.Current = side.of.Digest == now
	}
	before, after := out.From.manifest.Objects, out.To.manifest.Objects
	names := maps.Clone(before)
	maps.Copy(names, after)
	delete(names, manifest.NoteName) // the notes are in From and To
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d, err := differ(ctx, store, name, before, after)
		if err != nil {
			return nil, err
		}
		if d != nil {
			out.Objects = append(out.Objects, *d)
		}
	}
	return out, nil
}

// differ returns the difference of one object, or nil if both generations have the same.
func differ(
	ctx context.Context, store objectstore.Source, name string, before, after map[string]manifest.Object,
) (*Difference, error) {
	d := &Difference{Name: name, Texts: manifest.Bundled(name) && !strings.HasPrefix(name, "pki/")}
	if o, had := before[name]; had {
		d.Before = &o
	}
	if o, has := after[name]; has {
		d.After = &o
	}
	if d.Before != nil && d.After != nil && *d.Before == *d.After {
		return nil, nil
	}
	for _, side := range []struct {
		o  *manifest.Object
		to *[]byte
	}{{d.Before, &d.Former}, {d.After, &d.Later}} {
		if side.o == nil || !d.Texts {
			continue
		}
		got, err := store.Get(ctx, side.o.Path(), "", side.o.Size)
		if err == nil {
			err = side.o.VerifyBytes(name, got.Body)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, problem.StoreDamaged.Errorf("object %q is no longer there (agent store prune removes what "+
				"is old): compare later generations: %w", name, err)
		}
		if err != nil {
			return nil, err
		}
		*side.to = bytes.Clone(got.Body)
	}
	return d, nil
}

// named returns the record that a number or the beginning of a sha256 names.
func (g generations) named(name, now string) (generation, error) {
	var found generations
	number, err := strconv.ParseInt(name, 10, 64)
	for _, r := range g {
		switch {
		case name == "" && r.digest == now:
			return r, nil
		// of several records with this number, the published one
		case err == nil && r.number == number && r.digest == now:
			return r, nil
		case err == nil && r.number == number, len(name) >= leastDigits && strings.HasPrefix(r.digest, name):
			found = append(found, r)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return generation{}, problem.Usage.Errorf("there is no record of generation %q: `agent store history` lists "+
			"those that there are, by number and sha256", name)
	}
	var digests []string
	for _, r := range found {
		digests = append(digests, fmt.Sprintf("%.12s", r.digest))
	}
	return generation{}, problem.Usage.Errorf("generation %q has %s, of which one was published: name one by "+
		"its sha256: %s", name, plural.Of(len(found), "record"), strings.Join(digests, ", "))
}

// leastDigits is the least length of a sha256 prefix that names a generation. A shorter text may be
// a number.
const leastDigits = 8
