package publisher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// Pruning says what of a published cluster is to go.
type Pruning struct {
	Cluster string
	// Older is how long nodes may still read a generation after the next one came, and how old at
	// least what is removed is.
	Older    time.Duration
	DryRun   bool   // only look
	TakeOver bool   // though somebody else's has not ended: it was killed
	By       string // who asks, for messages to others
	Now      time.Time
}

// Pruned says what became of it.
type Pruned struct {
	Cluster     string   `json:"cluster"`
	From        string   `json:"from"`
	Generation  int64    `json:"generation"`  // what nodes take now
	Oldest      int64    `json:"oldest"`      // the oldest generation that is still complete
	Retained    int      `json:"kept"`        // objects
	Objects     []string `json:"objects"`     // what was removed, or with DryRun would be
	Generations []string `json:"generations"` // records, likewise
	Bytes       int64    `json:"bytes"`       // of both
	DryRun      bool     `json:"dryRun,omitempty"`
}

// pruneBatch is how many objects are removed between two looks whether the prune is still ours.
const pruneBatch = 64

// pruneBatchLimit bounds the removal of so many, all attempts together.
const pruneBatchLimit = 2 * time.Minute

// Prune removes objects that no manifest names which a node may read: not the one that is
// published, and none whose successor is younger than p.Older. What was put there less than p.Older
// ago stays too. It is for whoever publishes, may be retried, and after an error has removed only
// what was to go.
//
// A publication keeps a record of each generation, generations/N-<sha256>, before it moves the
// manifest. A record that is missing or damaged of a generation that may still be read is an error,
// before anything is removed: nobody knows what that generation names. So is an object that the
// published one lacks: whoever removed it may have removed others, and until it is published again
// the older generations are all that nodes have.
//
// Why a publication beside it is safe, whatever the clocks say. Who prunes marks the object "prune"
// as taken, by a compare and swap, then lists, removes, and marks it as free. Who publishes (1)
// sees it free, (2) puts the objects, where one of its name is there it stays, (3) puts the record,
// (4) sees the mark as it was in 1, and (5) moves the manifest. So no prune removed anything
// between 1 and 4, and all objects are there at 4. A prune that begins after 4 lists after 3: it
// finds the record, whose generation is higher than that of the manifest or the same, and keeps
// what it names. For the same reason two prunes at once are one: the other one's swap fails. A
// prune that is killed leaves its mark, so that publishers wait for a person who takes over; if it
// only seemed killed, it finds the mark changed before it removes the next few.
//
// Times are those of the store's own clock: when the mark was put there is now.
func Prune(ctx context.Context, to objectstore.Destination, p Pruning) (out *Pruned, err error) {
	defer within(&err, "prune", to)
	now, stillMine := p.Now, func(context.Context) error { return nil }
	if !p.DryRun {
		mark, err := lockPrune(ctx, to, p)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, mark.unlock(ctx)) }()
		now, stillMine = mark.at, mark.check
	}
	cutoff := now.Add(-p.Older)
	_, m, err := current(ctx, to, p.Cluster)
	if err != nil {
		return nil, err
	}
	if m.Generation == 0 {
		return nil, errors.New("nothing is published there: look at the store and the cluster that you named")
	}
	g, err := listGenerations(ctx, to)
	if err != nil {
		return nil, err
	}
	oldest, err := g.oldest(m.Generation, cutoff, p.Older)
	if err != nil {
		return nil, err
	}
	needed, shared := m.Named(map[string]bool{}), twice(map[string]bool{}, m)
	for _, r := range g.since(oldest) {
		of, err := r.read(ctx, to, p.Cluster)
		if err != nil {
			return nil, err
		}
		of.Named(needed)
		twice(shared, of)
	}
	out = &Pruned{Cluster: p.Cluster, From: to.String(), Generation: m.Generation, Oldest: oldest, DryRun: p.DryRun, Objects: []string{}, Generations: []string{}}
	var all []objectstore.Listed
	lacks, guarded := m.Named(map[string]bool{}), map[string]bool{} // by sha256
	err = to.List(ctx, path.Dir(manifest.ObjectsDir)+"/", func(o objectstore.Listed) error {
		dir, sha := path.Split(o.Name)
		if dir = path.Clean(dir); manifest.ValidDigest(sha) && (dir == manifest.ObjectsDir || dir == manifest.ControlPlaneDir) { // else not ours
			delete(lacks, sha)
			guarded[sha] = guarded[sha] || dir == manifest.ControlPlaneDir
			all = append(all, o)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		dir, sha := path.Split(o.Name)
		exposed := guarded[sha] && !shared[sha] && path.Clean(dir) == manifest.ObjectsDir // who may read the key finds it at its other name
		if needed[sha] && !exposed || o.Put.After(cutoff) {
			out.Retained++
		} else {
			out.Objects, out.Bytes = append(out.Objects, o.Name), out.Bytes+o.Size
		}
	}
	if len(lacks) > 0 {
		return nil, fmt.Errorf("%d of the objects of generation %d are missing, %s first, and no node can take it: publish again what you published, and prune then",
			len(lacks), m.Generation, path.Join(manifest.ObjectsDir, slices.Min(slices.Collect(maps.Keys(lacks)))))
	}
	for _, r := range g.before(oldest) {
		if !r.put.After(cutoff) {
			out.Generations, out.Bytes = append(out.Generations, r.name), out.Bytes+r.size
		}
	}
	slices.Sort(out.Objects)
	if p.DryRun {
		return out, nil
	}
	return out, removeAll(ctx, to, slices.Concat(out.Objects, out.Generations), stillMine) // a record goes after what it alone names
}

// twice adds what a manifest has under several names, by sha256: who may not read a key of control
// plane nodes may need the same content by another name.
func twice(to map[string]bool, m *manifest.Manifest) map[string]bool {
	once := make(map[string]bool, len(m.Objects))
	for _, o := range m.Objects {
		to[o.SHA256] = to[o.SHA256] || once[o.SHA256]
		once[o.SHA256] = true
	}
	return to
}

// removeAll removes a few at a time.
func removeAll(
	ctx context.Context, from objectstore.Destination, names []string, stillMine func(context.Context) error,
) error {
	for few := range slices.Chunk(names, pruneBatch) {
		if err := stillMine(ctx); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, pruneBatchLimit,
			errors.New("the store takes too long: prune again"))
		each, ctx := errgroup.WithContext(ctx)
		each.SetLimit(writers)
		for _, name := range few {
			each.Go(func() error { return from.Remove(ctx, name) })
		}
		err := each.Wait()
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}
