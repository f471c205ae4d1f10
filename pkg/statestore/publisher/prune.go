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

// Pruning says which objects of a published cluster [Prune] removes.
type Pruning struct {
	Cluster string
	// Older is how long a node may still read a generation after its successor was published. It is
	// also the least age of an object that is removed.
	Older    time.Duration
	DryRun   bool   // only list what would be removed
	TakeOver bool   // take the lock of a prune that was killed
	By       string // name of the caller, for messages to other users
	Now      time.Time
}

// Pruned is the result of [Prune].
type Pruned struct {
	Cluster     string   `json:"cluster"`
	From        string   `json:"from"`
	Generation  int64    `json:"generation"`  // the published generation
	Oldest      int64    `json:"oldest"`      // the oldest generation that still has all its objects
	Retained    int      `json:"kept"`        // number of objects
	Objects     []string `json:"objects"`     // those that were removed, or would be with DryRun
	Generations []string `json:"generations"` // records that were removed, or would be
	Bytes       int64    `json:"bytes"`       // of Objects and Generations
	DryRun      bool     `json:"dryRun,omitempty"`
}

// pruneBatch is how many objects are removed before the prune checks its lock again.
const pruneBatch = 64

// pruneBatchLimit is the time limit for the removal of one batch, with all attempts.
const pruneBatchLimit = 2 * time.Minute

// Prune removes the objects that no manifest names which a node may still read. A node may read the
// published generation, and each one whose successor is younger than p.Older. Prune also leaves
// objects that were uploaded less than p.Older ago. Publishers call it. It may be retried: after an
// error it has removed only objects that were to be removed.
//
// A publication stores a record of each generation, generations/N-<sha256>, before it replaces the
// manifest. If the record of a generation that may still be read is missing or damaged, Prune
// returns an error before it removes anything, because it cannot know which objects that generation
// names. It also returns an error if an object of the published generation is missing. Whoever
// removed that object may have removed others, and until the cluster is published again nodes can
// only use older generations.
//
// Prune is safe beside a publication, whatever the clocks show. A prune locks the object "prune"
// with a compare and swap, then lists, removes, and unlocks it. A publication (1) sees that the
// object is unlocked, (2) uploads the objects that the store does not have, (3) stores the record,
// (4) sees that the object "prune" is the same as in 1, and (5) replaces the manifest. So no prune
// removed anything between 1 and 4, and all objects exist at 4. A prune that begins after 4 lists
// after 3. It finds the record, whose generation is the manifest's or a higher one, and leaves the
// objects that it names. Two prunes cannot run at once, because the swap of the second one fails. A
// prune that is killed leaves its lock, so that publishers wait until a person takes over. If it
// was not killed after all, it finds that the lock has changed before it removes the next batch.
//
// All times are by the clock of the store: the time of the lock counts as now.
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
		return nil, errors.New("nothing is published there: check the store and the cluster that you named")
	}
	g, err := listGenerations(ctx, to)
	if err != nil {
		return nil, err
	}
	oldest, err := g.oldest(m.Generation, cutoff, p.Older)
	if err != nil {
		return nil, err
	}
	needed, shared, err := g.since(oldest).hashes(ctx, to, p.Cluster, m)
	if err != nil {
		return nil, err
	}
	out = &Pruned{Cluster: p.Cluster, From: to.String(), Generation: m.Generation, Oldest: oldest, DryRun: p.DryRun, Objects: []string{}, Generations: []string{}}
	all, err := listObjects(ctx, to)
	if err != nil {
		return nil, err
	}
	lacks, guarded := m.Named(map[string]bool{}), map[string]bool{} // by sha256
	for _, o := range all {
		dir, sha := path.Split(o.Name)
		delete(lacks, sha)
		guarded[sha] = guarded[sha] || path.Clean(dir) == manifest.ControlPlaneDir
	}
	for _, o := range all {
		dir, sha := path.Split(o.Name)
		// a reader of the key finds it at objects/control-plane
		exposed := guarded[sha] && !shared[sha] && path.Clean(dir) == manifest.ObjectsDir
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
	// records go after the objects that only they name
	return out, removeAll(ctx, to, slices.Concat(out.Objects, out.Generations), stillMine)
}

// listObjects lists the objects of manifests. Other names below the directory are not ours.
func listObjects(ctx context.Context, in objectstore.Destination) (all []objectstore.Listed, err error) {
	err = in.List(ctx, path.Dir(manifest.ObjectsDir)+"/", func(o objectstore.Listed) error {
		dir, sha := path.Split(o.Name)
		dir = path.Clean(dir)
		if manifest.ValidDigest(sha) && (dir == manifest.ObjectsDir || dir == manifest.ControlPlaneDir) {
			all = append(all, o)
		}
		return nil
	})
	return all, err
}

// hashes returns the hashes that m and these generations name, and which of them one manifest has
// under several names.
func (g generations) hashes(
	ctx context.Context, in objectstore.Destination, cluster string, m *manifest.Manifest,
) (needed, shared map[string]bool, err error) {
	needed, shared = m.Named(map[string]bool{}), twice(map[string]bool{}, m)
	for _, r := range g {
		of, err := r.read(ctx, in, cluster)
		if err != nil {
			return nil, nil, err
		}
		of.Named(needed)
		twice(shared, of)
	}
	return needed, shared, nil
}

// twice adds the hashes that a manifest has under several names. A node that may not read a key of
// control plane nodes may need the same content under its other name.
func twice(to map[string]bool, m *manifest.Manifest) map[string]bool {
	once := make(map[string]bool, len(m.Objects))
	for _, o := range m.Objects {
		to[o.SHA256] = to[o.SHA256] || once[o.SHA256]
		once[o.SHA256] = true
	}
	return to
}

// removeAll removes the names in batches.
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
