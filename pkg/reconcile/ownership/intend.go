package ownership

import (
	"context"
	"fmt"
	"maps"
	"path"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/tasks"
)

// TimesBefore returns the modification times of the directories in which files are created before
// the change: the one above the ledger's, and those of a checkpoint. A caller that takes a
// checkpoint calls it before it creates anything, because the checkpoint keeps files beside the
// ledger while the ledger is written.
func TimesBefore(files hostfs.Files, ofCheckpoint []string) map[string]int64 {
	times := map[string]int64{}
	for _, dir := range ofCheckpoint {
		if info, err := files.Lstat(dir); err == nil {
			times[dir] = info.Mtime
		}
	}
	for dir := path.Dir(ledger.Dir); dir != "/"; dir = path.Dir(dir) {
		if info, err := files.Lstat(dir); err == nil {
			times[dir] = info.Mtime
			break
		}
	}
	return times
}

// Intend records what is about to change, before the first change: the owner of each key and its
// present state. If the ledger has all of that already, Intend does not write it again first: see
// [Transaction.Repeats]. It also writes if the pass only removes something, so that nothing is
// changed while the ledger cannot be written. unknown has the tasks, by their first keys, whose
// keys could not be read. Intend writes nothing about them, and the caller must not change them.
func (c *Transaction) Intend(
	ctx context.Context, h *host.Host, planned *changes.Set, removing bool,
) (unknown map[graph.Key]error, err error) {
	b := ledger.Batch{Head: c.Led.Head(), Put: make([]ledger.Entry, 0, len(planned.ByKey)), Dirs: map[string]int64{}}
	b.Head.Clean = false
	v := h.Live.View().Snapshot()
	for _, t := range c.Set.Order {
		first := t.Owns()[0]
		change := planned.Get(first)
		if change == nil || change.NotApplicable != "" || !tasks.IsState(first) {
			continue
		}
		rec, known := c.Set.Of(first)
		if !known {
			continue
		}
		entries, err := c.intents(ctx, v, t, change, &b)
		if err != nil {
			if unknown == nil {
				unknown = map[graph.Key]error{}
			}
			unknown[first] = err
			continue
		}
		b.Put, b.Blobs = append(b.Put, entries...), append(b.Blobs, rec.Contents...)
	}
	if len(b.Put) == 0 && !removing {
		return unknown, nil
	}
	unguarded := c.TimesBefore == nil
	if unguarded {
		c.TimesBefore = TimesBefore(h.Live.Files, nil)
	}
	maps.Copy(b.Dirs, c.TimesBefore)
	c.Repeats = unguarded && !removing && noted(c.Led, &b)
	b.Later = c.Repeats
	return unknown, c.Led.Commit(ctx, h.Files, b)
}

// Noted reports whether the ledger already has all that [Transaction.Intend] would write before the
// changes, except that they are about to be made: the owners of the keys, and what was there. That
// is so for all that was right for this very set, except for a key that was right before the agent
// came and is changed for the first time.
func (c *Transaction) Noted(ctx context.Context, v host.View, planned *changes.Set) (bool, error) {
	b := ledger.Batch{Dirs: map[string]int64{}}
	for first, change := range planned.ByKey {
		if change.NotApplicable != "" {
			continue
		}
		t, _ := c.Set.Find(first)
		entries, err := c.intents(ctx, v, t, change, &b)
		if err != nil {
			return false, err
		}
		b.Put = append(b.Put, entries...)
	}
	return noted(c.Led, &b), nil
}

// noted reports whether the ledger already has what a batch records before the changes. A new
// baseline makes the entry differ.
func noted(led *ledger.Ledger, b *ledger.Batch) bool {
	for _, e := range b.Put {
		was, known := led.Entries()[e.Key]
		e.Pending, e.Drift, e.Again, e.Untried = was.Pending, was.Drift, was.Again, was.Untried
		if !known || !SameEntry(was, e) {
			return false
		}
	}
	for dir := range b.Dirs {
		_, known := led.Dirs()[dir]
		if made := led.Entries()[tasks.FileKey(dir)]; !known && made.Mode != ledger.Owned { // its former time is unknown
			return false
		}
	}
	return true
}

// intents returns the entries of the keys that a task is about to change.
func (c *Transaction) intents(
	ctx context.Context, v host.View, t tasks.Task, change *tasks.Change, b *ledger.Batch,
) (list []ledger.Entry, err error) {
	first := t.Owns()[0]
	for _, key := range append(t.Owns(), c.Parents(change)...) {
		e, err := c.intent(ctx, v, t, key, b)
		if err != nil {
			return nil, fmt.Errorf("look at %s before it changes: %w", key, err)
		}
		if key == first {
			c.Judge.Mark(&e)
		}
		list = append(list, e)
	}
	return list, nil
}

// Parents returns the directories that a change creates on the way to its file and that no task
// wants.
func (c *Transaction) Parents(change *tasks.Change) []graph.Key {
	var out []graph.Key
	for _, it := range change.Items {
		if it.Op == tasks.Create && it.Key.Kind() == tasks.KindFile && !c.Set.Wants(it.Key) {
			out = append(out, it.Key)
		}
	}
	return out
}

// intent returns the entry of a key that is about to change. An owner that the ledger has stays.
func (c *Transaction) intent(
	ctx context.Context, v host.View, t tasks.Task, key graph.Key, b *ledger.Batch,
) (ledger.Entry, error) {
	e, known := c.Led.Entries()[key]
	k := tasks.StateReaderOf(t, key)
	var err error
	switch {
	case !known || c.overtaken(ctx, v, e):
		e, err = c.enter(ctx, v, t, key)
	case e.Released:
		e, err = c.again(ctx, v, t, e)
	case k != nil && c.leftBy(ctx, v, e): // how the earlier change ended can be seen now, but not after this change
		e.Last, err = k.Live(ctx, v)
	}
	if err != nil {
		return e, err
	}
	if r, ok := k.(tasks.Restorer); ok && e.Baseline == nil &&
		(e.Mode == ledger.Found || key.Kind() == tasks.KindTOML) {
		base, err := r.Baseline(ctx, v)
		if err != nil {
			return e, err
		}
		c.oldest(key, &base)
		if base.Content != nil {
			b.Blobs = append(b.Blobs, blob.Of(base.Content))
		}
		e.Baseline = &base
	}
	dirs := tasks.DirsOf(v, key)
	for _, dir := range dirs {
		if info, err := v.Files.Lstat(dir); err == nil && info.Type == hostfs.Directory {
			b.Dirs[dir] = info.Mtime
		}
	}
	c.describe(&e, t, key)
	e.Pending, e.Released = true, false
	return e, nil
}
