package ownership

import (
	"context"
	"maps"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// oldest gives a key in a TOML file the file as it was before the first key of ours in it: with the
// last of them, all of it comes back.
func (c *Transaction) oldest(key graph.Key, base *tasks.Baseline) {
	if key.Kind() != tasks.KindTOML {
		return
	}
	for _, other := range slices.Sorted(maps.Keys(c.Led.Entries())) {
		was := c.Led.Entries()[other].Baseline
		if other.Kind() == tasks.KindTOML && tasks.FileOf(other) == tasks.FileOf(key) && was != nil && was.Blob != nil {
			base.Data, base.Blob, base.Content = was.Data, was.Blob, nil
			return
		}
	}
}

// overtaken says that a key which was to be ours, had the agent not been killed first, is now
// somebody else's.
func (c *Transaction) overtaken(ctx context.Context, v host.View, e ledger.Entry) bool {
	return e.Pending && e.Last == "" && e.Mode != ledger.Found && !c.leftBy(ctx, v, e)
}

// Altered says that somebody else has made of a key what is there. A found file that is not there
// is their doing whatever the ledger says: nothing of ours removes one.
func (c *Transaction) Altered(ctx context.Context, v host.View, e ledger.Entry, live string) bool {
	removed := live == "" && e.Mode == ledger.Found && e.Key.Kind() == tasks.KindFile
	return (live != e.Last || removed) && !c.leftBy(ctx, v, e)
}

// enter makes the entry of a key that the ledger does not know: absent makes it ours to be, present
// makes it found.
func (c *Transaction) enter(ctx context.Context, v host.View, t tasks.Task, key graph.Key) (ledger.Entry, error) {
	e := ledger.Entry{Key: key, Mode: ledger.Found}
	k := tasks.StateReaderOf(t, key)
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
	if !present && (removable || tasks.MayBeMissing(key)) {
		e.Mode = ledger.Owned
		if set, ok := t.(tasks.CertificateSet); ok && set.RetainOnRelease {
			e.Mode = ledger.Retained
		}
	}
	return e, nil
}

// again is the entry of a key that was let go of and is wanted again. What has gone from the host
// meanwhile enters anew, as ours to be: somebody took it away, and what we put there next goes with
// us.
func (c *Transaction) again(ctx context.Context, v host.View, t tasks.Task, e ledger.Entry) (ledger.Entry, error) {
	anew, err := c.enter(ctx, v, t, e.Key)
	if err != nil || anew.Mode == ledger.Found {
		return e, err
	}
	return anew, nil
}

// describe puts the task into an entry.
func (c *Transaction) describe(e *ledger.Entry, t tasks.Task, key graph.Key) {
	e.Parent = !c.Set.Wants(key)
	if e.Parent {
		return
	}
	e.Needs, e.Effects = tasks.NeedsOf(t), tasks.EffectsOf(t)
	e.Task, e.Of = nil, ""
	if first := t.Owns()[0]; key != first {
		e.Of = first
		return
	}
	if rec, known := c.Set.Of(key); known {
		task := rec.Recorded
		e.Task = &task
	}
}

// leftBy says that a change which nothing says the end of has ended as it was meant: then what is
// there is ours. Only of paths it is asked, for they change in one step; of the kernel's objects, a
// half is ours too.
func (c *Transaction) leftBy(ctx context.Context, v host.View, e ledger.Entry) bool {
	if !e.Pending {
		return false
	}
	if e.Key.Kind() != tasks.KindFile || e.Parent {
		return true
	}
	e.Task = taskOf(c.Led, e)
	t, err := e.Rebuild(v.Files)
	if err != nil || t == nil {
		return false
	}
	change, err := t.Plan(ctx, v)
	return err == nil &&
		(change == nil || !slices.ContainsFunc(change.Items, func(it tasks.Item) bool { return it.Key == e.Key }))
}

// taskOf is the task that looks after a key, as it is recorded; nil: it is not.
func taskOf(led *ledger.Ledger, e ledger.Entry) *tasks.Recorded {
	if e.Of != "" {
		return led.Entries()[e.Of].Task
	}
	return e.Task
}

// UsedBy says what of somebody else's would go along with a key of ours; "" if nothing would.
// Directories are looked at when their turn comes, since what is in them may go before.
func UsedBy(ctx context.Context, v host.View, led *ledger.Ledger, k tasks.StateReader) (string, error) {
	holder, ok := k.(tasks.UseReader)
	if !ok {
		return "", nil
	}
	return holder.UsedBy(ctx, v, func(key graph.Key) bool {
		_, known := led.Entries()[key]
		return known
	})
}
