package publisher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// generation is one record in the list of a cluster's records.
type generation struct {
	name   string
	number int64
	digest string // sha256 that the record must have
	size   int64
	put    time.Time
}

// generations are the records of a cluster, sorted by number.
type generations []generation

func byNumber(a, b generation) int { return int(a.number - b.number) }

// listGenerations lists the records. It ignores other names in their directory.
func listGenerations(ctx context.Context, from objectstore.Destination) (out generations, err error) {
	err = from.List(ctx, manifest.GenerationsDir+"/", func(o objectstore.Listed) error {
		digits, digest, ok := parsed(o.Name)
		if n, err := strconv.ParseInt(digits, 10, 64); ok && err == nil && n > 0 {
			out = append(out, generation{name: o.Name, number: n, digest: digest, size: o.Size, put: o.Put})
		}
		return nil
	})
	slices.SortStableFunc(out, byNumber)
	return out, err
}

// parsed splits a name of the form N-<sha256>.
func parsed(name string) (digits, digest string, ok bool) {
	digits, digest, ok = strings.Cut(path.Base(name), "-")
	return digits, digest, ok && manifest.ValidDigest(digest) && path.Dir(name) == manifest.GenerationsDir
}

// split returns the index of the first record whose number is not lower than number.
func (g generations) split(number int64) int {
	i, _ := slices.BinarySearchFunc(g, number, func(r generation, n int64) int { return int(r.number - n) })
	return i
}

func (g generations) since(number int64) generations  { return g[g.split(number):] }
func (g generations) before(number int64) generations { return g[:g.split(number)] }

// came returns the time at which a generation was published, or the latest such time if it has
// several records. known is false if it has no record.
func (g generations) came(number int64) (latest time.Time, known bool) {
	for _, r := range g.since(number).before(number + 1) {
		if r.put.After(latest) {
			latest = r.put
		}
	}
	return latest, !latest.IsZero()
}

// oldest returns the oldest generation that a node may still read. That is the published one, or an
// older one whose successor was published after the cutoff.
func (g generations) oldest(published int64, cutoff time.Time, older time.Duration) (int64, error) {
	for n := published; ; n-- {
		switch came, known := g.came(n); {
		case n == 1 && (known || n == published):
			return 1, nil
		case !known && n == published:
			return 0, fmt.Errorf("the store has no record of generation %d, which an older agent published: publish "+
				"with this agent, even if nothing changed, and prune %s later", n, older)
		case !known:
			next, _ := g.came(n + 1)
			return 0, fmt.Errorf("the store has no record of generation %d, which nodes may read until %s: restore "+
				"%s/%d-…, or prune after that time",
				n, next.Add(older).UTC().Format(time.RFC3339), manifest.GenerationsDir, n)
		case !came.After(cutoff):
			return n, nil
		}
	}
}

// read returns the manifest in a record.
func (r generation) read(ctx context.Context, from objectstore.Source, cluster string) (*manifest.Manifest, error) {
	got, err := from.Get(ctx, r.name, "", manifest.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil,
			fmt.Errorf("the record %s was removed meanwhile: find out what removes records, and prune again: "+
				"%w", r.name, err)
	}
	if err != nil {
		return nil, err
	}
	m, err := manifest.Parse(got.Body, cluster)
	if is := trust.Digest(got.Body); err == nil && (is != r.digest || m.Generation != r.number) {
		err = fmt.Errorf("it is generation %d with sha256 %s", m.Generation, is)
	}
	if err != nil {
		return nil, fmt.Errorf("the record %s is damaged, so the objects of that generation are not known: restore "+
			"it from a copy of the store; or remove it, and publish again if it belongs to the published "+
			"generation: %w", r.name, err)
	}
	return m, nil
}
