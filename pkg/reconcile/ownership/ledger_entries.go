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

// oldest gives a key in a TOML file the baseline of the agent's first key in that file. So the
// whole file is restored together with the agent's last key in it.
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

// overtaken reports whether somebody else has taken a key that the agent was about to create when
// it was killed.
func (c *Transaction) overtaken(ctx context.Context, v host.View, e ledger.Entry) bool {
	return e.Pending && e.Last == "" && e.Mode != ledger.Found && !c.leftBy(ctx, v, e)
}

// Altered reports whether somebody else changed the key's state. If a found file is missing,
// somebody else removed it whatever the ledger says, because the agent removes no such file.
func (c *Transaction) Altered(ctx context.Context, v host.View, e ledger.Entry, live string) bool {
	removed := live == "" && e.Mode == ledger.Found && e.Key.Kind() == tasks.KindFile
	return (live != e.Last || removed) && !c.leftBy(ctx, v, e)
}

// enter makes an entry for a key that the ledger does not know. A key that is absent becomes owned.
// A key that is present becomes found.
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

// again returns the entry of a key that was released and is wanted again. If the key has
// disappeared from the host meanwhile, it gets a new entry as owned: somebody removed it, so what
// the agent creates next is removed with the agent.
func (c *Transaction) again(ctx context.Context, v host.View, t tasks.Task, e ledger.Entry) (ledger.Entry, error) {
	anew, err := c.enter(ctx, v, t, e.Key)
	if err != nil || anew.Mode == ledger.Found {
		return e, err
	}
	return anew, nil
}

// describe writes the task into an entry.
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

// leftBy reports whether a change whose end is not recorded ended as planned, so that what is there
// is the agent's. It checks only files, because a file changes in one step. A half-made object of
// the kernel is the agent's too.
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

// taskOf returns the recorded task that manages a key, or nil if none is recorded.
func taskOf(led *ledger.Ledger, e ledger.Entry) *tasks.Recorded {
	if e.Of != "" {
		return led.Entries()[e.Of].Task
	}
	return e.Task
}

// UsedBy returns which thing of somebody else would be removed together with the agent's key, or ""
// if there is none. It does not check directories: that is done when they are removed, because
// their contents may be removed first.
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
