package reconcile

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
func (c *custody) oldest(key graph.Key, base *tasks.Baseline) {
	if key.Kind() != tasks.KindTOML {
		return
	}
	for _, other := range slices.Sorted(maps.Keys(c.led.Entries())) {
		was := c.led.Entries()[other].Baseline
		if other.Kind() == tasks.KindTOML && tasks.FileOf(other) == tasks.FileOf(key) && was != nil && was.Blob != nil {
			base.Data, base.Blob, base.Content = was.Data, was.Blob, nil
			return
		}
	}
}

// overtaken says that a key which was to be ours, had the agent not been killed first, is now
// somebody else's.
func (c *custody) overtaken(ctx context.Context, v host.View, e ledger.Entry) bool {
	return e.Pending && e.Last == "" && e.Mode != ledger.Found && !c.leftBy(ctx, v, e)
}

// altered says that somebody else has made of a key what is there. A found file that is not there
// is their doing whatever the ledger says: nothing of ours removes one.
func (c *custody) altered(ctx context.Context, v host.View, e ledger.Entry, live string) bool {
	removed := live == "" && e.Mode == ledger.Found && e.Key.Kind() == tasks.KindFile
	return (live != e.Last || removed) && !c.leftBy(ctx, v, e)
}

// enter makes the entry of a key that the ledger does not know: absent makes it ours to be, present
// makes it found.
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
	if !present && (removable || tasks.MayBeAbsent(key)) {
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
func (c *custody) again(ctx context.Context, v host.View, t tasks.Task, e ledger.Entry) (ledger.Entry, error) {
	anew, err := c.enter(ctx, v, t, e.Key)
	if err != nil || anew.Mode == ledger.Found {
		return e, err
	}
	return anew, nil
}

// describe puts the task into an entry.
func (c *custody) describe(e *ledger.Entry, t tasks.Task, key graph.Key) {
	e.Parent = !c.set.Wants(key)
	if e.Parent {
		return
	}
	e.Needs, e.Asks = t.Needs(), t.Asks()
	e.Task, e.Of = nil, ""
	if first := t.Owns()[0]; key != first {
		e.Of = first
		return
	}
	if rec, known := c.set.Of(key); known {
		task := rec.Recorded
		e.Task = &task
	}
}
