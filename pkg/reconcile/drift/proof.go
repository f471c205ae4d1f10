package drift

import (
	"context"
	"slices"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/tasks"
)

// Prove says of each planned change what is known of it before it is made. v is the host before the
// pass, without what the plan will have done: what was there must go on as it did.
//
// What brings back what the ledger says was right is proved before: at a boot, in a repair. Without
// a change it costs nothing. The ledger is asked first: it is in memory, and the host is not.
func (d *Judge) Prove(ctx context.Context, w changes.Work, v host.View, node *config.Node) {
	c := w.Changes
	if len(c.ByKey) == 0 {
		return
	}
	on := tasks.Ground{View: v, Pods: desired.PodRanges(node), Read: tasks.ReadByUnits(w.Graph.Order())}
	for key, change := range c.ByKey {
		t, known := w.Graph.Find(key)
		if !known || change.NotApplicable != "" {
			continue
		}
		switch {
		case d.recordedRight(t):
			change.Proof = tasks.ProofBefore
		case tasks.Harmless(ctx, t, change, on):
			change.Proof = tasks.ProofHarmless
		}
	}
	for key, change := range c.ByKey {
		if !tasks.IsState(key) && change.Proof == tasks.ProofNone && d.follows(key, c) {
			change.Proof = tasks.ProofBefore
		}
	}
}

// follows says that an effect only follows from changes of this pass that are proved before. That a
// change of a file is harmless says nothing of what reads it.
func (d *Judge) follows(effect graph.Key, c *changes.Set) bool {
	if d == nil {
		return false
	}
	var asking []graph.Key
	for by, change := range c.ByKey {
		if change.NotApplicable != "" || !slices.Contains(change.Effects, effect) {
			continue
		}
		if change.Proof != tasks.ProofBefore {
			return false
		}
		asking = append(asking, by)
	}
	for _, by := range d.led.Effects.List()[string(effect)] { // what an earlier pass changed, and how, nobody knows any more
		if !slices.Contains(asking, graph.Key(by)) {
			return false
		}
	}
	return len(asking) > 0
}

// recordedRight says that the ledger has the very task as right: the node had it, and went on.
func (d *Judge) recordedRight(t tasks.Task) bool {
	if d == nil || !tasks.IsState(t.Owns()[0]) || tasks.Anew(t) {
		return false
	}
	e, known := d.led.Entries()[t.Owns()[0]]
	return known && d.sameTask(e) && !e.Untried
}
