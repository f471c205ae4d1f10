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

// Prove gives each planned change its proof: what is known about it before it is made. v is the
// host before the pass, without the planned changes, because what was there must go on to work.
//
// A change that restores what the ledger says was right is proved before, for example at a boot or
// in a repair. If no change is planned, Prove costs nothing. It asks the ledger first, because that
// is in memory.
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

// follows reports whether an effect is asked for only by changes of this pass that are proved
// before. A harmless change of a file proves nothing about the program that reads the file.
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
	for _, by := range d.led.Effects.List()[string(effect)] { // nobody knows what an earlier pass changed
		if !slices.Contains(asking, graph.Key(by)) {
			return false
		}
	}
	return len(asking) > 0
}

// recordedRight reports whether the ledger has this very task as right: the node had it and went on
// to work.
func (d *Judge) recordedRight(t tasks.Task) bool {
	if d == nil || !tasks.IsState(t.Owns()[0]) || tasks.Anew(t) {
		return false
	}
	e, known := d.led.Entries()[t.Owns()[0]]
	return known && d.sameTask(e) && !e.Untried
}
