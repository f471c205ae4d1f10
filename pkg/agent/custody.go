package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// custody is one pass's dealings with the ledger: which keys are whose, and what that was before.
//
// The order of writing is what makes it true after a kill at any time: an entry, with whose the key is and its
// baseline, is written before the change (intend); how it ended, after (settle).
type custody struct {
	led     *ledger.Ledger
	order   []tasks.Task
	records []recorded        // beside order; of no kind where a task only waits, and leaves nothing behind
	places  map[graph.Key]int // in order; nil until somebody asks: when nothing is to be done, nobody does
	print   string
	changed changedPolicy
	drift   *drift   // what of the changes brings back what somebody changed; nil where nothing does
	around  []string // directories that a checkpoint of the pass puts something into
}

// recorded is a task as it will stand in the ledger.
type recorded struct {
	tasks.Recorded
	blobs []host.Content
}

// intend writes down what is about to change, before the first change: whose each key is, and what was there. Before something is only
// removed, too, something is written: where the ledger cannot be, nothing is changed.
func (c *custody) intend(ctx context.Context, h *host.Host, planned *changes, removing bool) error {
	b := ledger.Batch{Head: c.led.Head(), Dirs: map[string]int64{}}
	b.Head.Settled = false
	for _, t := range c.order {
		first := t.Owns()[0]
		change := planned.get(first)
		rec, known := c.record(first)
		if change == nil || change.NotHere != "" || !known || !effectual(first) {
			continue
		}
		b.Blobs = append(b.Blobs, rec.blobs...)
		for _, key := range append(t.Owns(), c.parents(change)...) {
			e, err := c.intent(ctx, h, t, key, &b)
			if err != nil {
				return fmt.Errorf("look at %s before it changes: %w", key, err)
			}
			if key == first {
				c.drift.mark(&e)
			}
			b.Put = append(b.Put, e)
		}
	}
	if len(b.Put) == 0 && !removing {
		return nil
	}
	for _, dir := range c.around {
		if info, err := h.Lstat(dir); err == nil {
			b.Dirs[dir] = info.Mtime
		}
	}
	for dir := path.Dir(ledger.Dir); dir != "/"; dir = path.Dir(dir) { // the ledger comes into one of them
		if info, err := h.Lstat(dir); err == nil {
			b.Dirs[dir] = info.Mtime
			break
		}
	}
	return c.led.Commit(ctx, h, b)
}

// parents are the directories that a change makes on the way, and that no task wants by itself.
func (c *custody) parents(change *tasks.Change) []graph.Key {
	var out []graph.Key
	for _, it := range change.Items {
		if it.Op == tasks.Create && it.Key.Kind() == tasks.KindFile && !c.wanted(it.Key) {
			out = append(out, it.Key)
		}
	}
	return out
}

// intent is the entry of a key that is about to change. What the ledger says of whose it is, stays.
func (c *custody) intent(ctx context.Context, v host.View, t tasks.Task, key graph.Key, b *ledger.Batch) (ledger.Entry, error) {
	e, known := c.led.Entries()[key]
	k := tasks.KeeperOf(t, key)
	var err error
	switch {
	case !known || c.overtaken(ctx, v, e):
		e, err = c.enter(ctx, v, t, key)
	case e.Released:
		e, err = c.again(ctx, v, t, e)
	case k != nil && c.leftBy(ctx, v, e): // how an earlier change ended is known now, and will not be after this one
		e.Last, err = k.Live(ctx, v)
	}
	if err != nil {
		return e, err
	}
	if r, ok := k.(tasks.Restorer); ok && e.Baseline == nil && (e.Mode == ledger.Found || key.Kind() == tasks.KindTOML) {
		base, err := r.Baseline(ctx, v)
		if err != nil {
			return e, err
		}
		c.oldest(key, &base)
		if base.Content != nil {
			b.Blobs = append(b.Blobs, host.ContentOf(base.Content))
		}
		e.Baseline = &base
	}
	var dirs []string
	switch key.Kind() {
	case tasks.KindFile, tasks.KindTOML:
		dirs = []string{path.Dir(fileOf(key))}
	case tasks.KindUnit, tasks.KindMount: // systemd makes links
		dirs = tasks.UnitDirs(v)
	}
	for _, dir := range dirs {
		if info, err := v.Lstat(dir); err == nil && info.Type == host.Directory {
			b.Dirs[dir] = info.Mtime
		}
	}
	c.describe(&e, t, key)
	e.Pending, e.Released = true, false
	return e, nil
}

// fileOf is the file that a key is, or is in; "" if none.
func fileOf(key graph.Key) string {
	switch key.Kind() {
	case tasks.KindFile:
		return key.Name()
	case tasks.KindTOML:
		file, _, _ := strings.Cut(key.Name(), "#")
		return file
	}
	return ""
}

// oldest gives a key in a TOML file the file as it was before the first key of ours in it: with the last of them, all of it comes back.
func (c *custody) oldest(key graph.Key, base *tasks.Baseline) {
	if key.Kind() != tasks.KindTOML {
		return
	}
	for _, other := range slices.Sorted(maps.Keys(c.led.Entries())) {
		was := c.led.Entries()[other].Baseline
		if other.Kind() == tasks.KindTOML && fileOf(other) == fileOf(key) && was != nil && was.Blob != nil {
			base.Data, base.Blob, base.Content = was.Data, was.Blob, nil
			return
		}
	}
}

// overtaken says that a key which was to be ours, had the agent not been killed first, is now somebody else's.
func (c *custody) overtaken(ctx context.Context, v host.View, e ledger.Entry) bool {
	return e.Pending && e.Last == "" && e.Mode != ledger.Found && !c.leftBy(ctx, v, e)
}

// altered says that somebody else has made of a key what is there. A found file that is not there is their doing whatever the ledger says: nothing
// of ours removes one.
func (c *custody) altered(ctx context.Context, v host.View, e ledger.Entry, live string) bool {
	removed := live == "" && e.Mode == ledger.Found && e.Key.Kind() == tasks.KindFile
	return (live != e.Last || removed) && !c.leftBy(ctx, v, e)
}

// enter makes the entry of a key that the ledger does not know: absent makes it ours to be, present makes it found.
func (c *custody) enter(ctx context.Context, v host.View, t tasks.Task, key graph.Key) (ledger.Entry, error) {
	e := ledger.Entry{Key: key, Mode: ledger.Found}
	k := tasks.KeeperOf(t, key)
	if k == nil {
		return e, nil
	}
	live, err := k.Live(ctx, v)
	if err != nil {
		return e, err
	}
	present := live != ""
	if p, ok := k.(tasks.Presenter); ok && !present {
		if present, err = p.Present(ctx, v); err != nil {
			return e, err
		}
	}
	_, removable := k.(tasks.Remover)
	if kind := key.Kind(); !present && (removable || kind == tasks.KindModule || kind == tasks.KindMount) {
		e.Mode = ledger.Owned
		if set, ok := t.(tasks.CertificateSet); ok && set.RetainOnRelease {
			e.Mode = ledger.Retained
		}
	}
	return e, nil
}

// again is the entry of a key that was let go of and is wanted again. What has gone from the host meanwhile enters anew, as ours to be: somebody took
// it away, and what we put there next goes with us.
func (c *custody) again(ctx context.Context, v host.View, t tasks.Task, e ledger.Entry) (ledger.Entry, error) {
	anew, err := c.enter(ctx, v, t, e.Key)
	if err != nil || anew.Mode == ledger.Found {
		return e, err
	}
	return anew, nil
}

// describe puts the task into an entry.
func (c *custody) describe(e *ledger.Entry, t tasks.Task, key graph.Key) {
	e.Parent = !c.wanted(key)
	if e.Parent {
		return
	}
	e.Needs, e.Asks = t.Needs(), t.Asks()
	e.Task, e.Of = nil, ""
	if first := t.Owns()[0]; key != first {
		e.Of = first
		return
	}
	if rec, known := c.record(key); known {
		task := rec.Recorded
		e.Task = &task
	}
}

// ending is how a pass ended.
type ending struct {
	rep     graph.Report[tasks.Task]
	changed *changes
	pruned  *pruning
	removed []graph.Result[tasks.Task] // of the removals
	by      string
	desired *Desired
	halfway bool // the set is not what the host has, although nothing of it failed
}

// settle writes down how a pass ended: what is right, with what it left there, and what went. Where the ledger was in
// step with the set, only what changed is looked at.
func (c *custody) settle(ctx context.Context, h *host.Host, out ending) error {
	b := ledger.Batch{Head: c.led.Head()}
	inStep := c.inStep()
	if inStep && b.Head.Boot == c.led.Boot() && !out.changed.any() && len(out.removed) == 0 && out.desired.has(b.Head.Network) == b.Head.Network {
		return nil
	}
	for i := range out.rep.Results {
		res := &out.rep.Results[i]
		first := res.Node.Owns()[0]
		if _, known := c.record(first); !known || res.State != graph.Done || !effectual(first) || out.changed.leaves(first) != nil {
			c.undid(res, &b)
			continue
		}
		change := out.changed.get(first)
		if change != nil && change.NotHere != "" || inStep && change == nil {
			continue
		}
		if err := c.settleTask(ctx, h, res.Node, change, &b); err != nil {
			return err
		}
	}
	if err := c.settleRemoved(ctx, h, out, &b); err != nil {
		return err
	}
	if failure(out.rep) == nil && !out.halfway {
		b.Head.Print, b.Head.Boot = c.print, c.led.Boot()
		b.Head.Network = out.desired.has(b.Head.Network)
		b.Head.Settled = c.settled(b)
		if err := c.revise(h, out, &b); err != nil {
			return err
		}
	}
	if len(b.Put) == 0 && len(b.Drop) == 0 && b.Head == c.led.Head() && b.Revision == nil {
		return nil
	}
	if err := c.led.Commit(ctx, h, b); err != nil {
		return err
	}
	if b.Revision != nil {
		return errors.Join(c.led.Tidy(h), forgetArchives(h, c.led))
	}
	return nil
}

// settleTask brings the entries of one task that is right up to date.
func (c *custody) settleTask(ctx context.Context, v host.View, t tasks.Task, change *tasks.Change, b *ledger.Batch) error {
	keys := t.Owns()
	if change != nil {
		keys = append(keys, c.parents(change)...)
	}
	for _, key := range keys {
		old, known := c.led.Entries()[key]
		e := old
		k := tasks.KeeperOf(t, key)
		if !known {
			var err error
			if e, err = c.enter(ctx, v, t, key); err != nil && !errors.Is(err, host.ErrNotHere) {
				return fmt.Errorf("look at %s for the ledger: %w", key, err)
			}
		}
		if k != nil {
			live, err := k.Live(ctx, v)
			if err != nil && !errors.Is(err, host.ErrNotHere) {
				return fmt.Errorf("look at %s for the ledger: %w", key, err)
			}
			e.Last = live
		}
		c.describe(&e, t, key)
		e.Pending, e.Again, e.Released = false, false, false
		c.drift.nameIn(&e)
		if fleeting(t, key) {
			e.Boot = c.led.Boot()
		}
		if !known || !sameEntry(old, e) {
			b.Put = append(b.Put, e)
			if rec, known := c.record(t.Owns()[0]); known {
				b.Blobs = append(b.Blobs, rec.blobs...)
			}
		}
	}
	return nil
}

func sameEntry(a, b ledger.Entry) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// settled says that after b nothing is open: no change whose end is unknown, nothing to prune.
func (c *custody) settled(b ledger.Batch) bool {
	put := map[graph.Key]bool{}
	for _, e := range b.Put {
		put[e.Key] = true
		if e.Pending || !e.Released && !c.wants(e) {
			return false
		}
	}
	for key, e := range c.led.Entries() {
		if !put[key] && !slices.Contains(b.Drop, key) && (e.Pending || !e.Released && !c.wants(e)) {
			return false
		}
	}
	return true
}
