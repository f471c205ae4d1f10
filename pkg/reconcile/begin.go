package reconcile

import (
	"context"
	"maps"
	"time"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/drift"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/reconcile/migrate"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/reconcile/probation"
	"github.com/netwright/netwright/pkg/tasks"
)

// begin plans a pass. It reads the host and changes nothing.
func (p Pass) begin(ctx context.Context, d *desired.State, v host.View, led *ledger.Ledger) (*run, error) {
	d, err := desired.Target(d, led, v, p.Assets)
	if err != nil {
		return nil, err
	}
	if l, ok := v.Files.(interface{ Follow([]string) }); ok && d.Pinned == nil {
		l.Follow(d.Node.FollowLinks)
	}
	p.Sources().AskCloud(ctx, d, v)
	r := &run{desired: d, led: led, removals: changes.NewSet()}
	d.Had = led.Head().Network
	if d.Waiting != nil || !d.Taken.IsZero() {
		d.RetainRenewed(v.Files, led)
	}
	found, learnt, heard := p.Sources().Discover(ctx, d, v)
	r.apiCache = learnt
	p.Sources().AskEC2(ctx, d, v.Facts, &found)
	if r.graph, r.notes, err = d.Graph(v.Facts, found, p.Assets); err != nil {
		return r, r.retainBuilt(ctx, p, v, err)
	}
	if p.Hooks.Built != nil {
		p.Hooks.Built(d, r.graph.Order(), v)
	}
	r.notes = append(r.notes, heard...)
	if r.sw, err = migrate.Leave(ctx, d, r.graph, v, led, p.circumstances(d, v.Files, led)); err != nil {
		return nil, err
	}
	if r.sw.Begins() {
		if r.graph, r.notes, err = d.Graph(r.sw.Without(v.Facts), model.Discovered{}, p.Assets); err != nil {
			return nil, err
		}
		if r.graph, err = r.sw.Order(r.graph, v); err != nil {
			return nil, err
		}
	}
	r.notes = append(r.notes, linksOnTheWay(v, r.graph)...)
	if r.sw == nil || r.sw.Blocked == nil {
		if err := r.plan(ctx, p, v); err != nil {
			return nil, err
		}
	}
	if r.sw.Begins() {
		r.sw.Blocked, r.sw.Waits = r.sw.Unfit(r.rep, migrate.Essential(v, r.pruneRep))
	}
	if r.sw != nil && r.sw.Blocked != nil {
		return r, r.retainNetwork(ctx, p, v)
	}
	return r, nil
}

// plan plans what the graph wants, and then what nobody wants any more.
func (r *run) plan(ctx context.Context, p Pass, v host.View) (err error) {
	r.expiries = issue.Ending(r.graph, r.desired.Node.Name, time.Now())
	if r.ownership, err = ownership.Begin(r.graph, r.led); err != nil {
		return err
	}
	r.ownership.Changed = ownership.PolicyOf(r.desired)
	if pin := r.led.Head().Pin; pin != nil && r.desired.Pinned != nil {
		r.ownership.PinnedAt = pin.Revision
	}
	if r.pruning, err = r.ownership.Prune(ctx, v, r.sw.Begins(), r.sw.Tail()); err != nil {
		return err
	}
	if err = execute.AckDone(ctx, v, r.led); err != nil {
		return err
	}
	r.trials = probation.Load(v.Files, p.Log, p.CacheOnly)
	r.refused = r.trials.Suppressed(v, r.graph, r.ownership.Set, time.Now())
	maps.Copy(r.refused, failedBoots(r.ownership.Set, v, time.Now()))
	if r.sw.Begins() {
		maps.Copy(r.refused, fetch.Unfetched(ctx, v, r.graph))
	}
	r.ownership.Judge = drift.New(r.ownership.Set, r.led, v, r.desired, p.ForceRepair, time.Now())
	r.changes, r.rep = execute.Plan(ctx, r.graph, v, r.led.Effects.List(), r.refused, r.ownership.Judge, r.pruning.Gone...)
	r.ownership.Judge.FindMissing(ctx, r.rep)
	r.trials.Remark(ctx, v, r.graph, r.changes)
	r.ownership.Judge.Prove(ctx, r.changes, r.graph, v, r.desired.Node)
	r.removals, r.pruneRep = changes.NewSet(), graph.Report[tasks.Task]{}
	if r.pruning.Graph != nil && changes.Failure(changes.Allowed(r.rep)) == nil {
		r.late = r.lateEffects()
		r.removals, r.pruneRep = execute.Plan(ctx, r.pruning.Graph, v, r.late, r.refused, nil, pendingFacts(r)...)
		(*drift.Judge)(nil).Prove(ctx, r.removals, r.pruning.Graph, v, r.desired.Node)
	}
	return nil
}

// pendingFacts is what the removals of a switch find when their turn comes: what the old network
// left is gone.
func pendingFacts(r *run) (facts []host.Fact) {
	if r.sw.Begins() {
		for _, c := range r.changes.ByKey {
			facts = append(facts, c.Pending...)
		}
	}
	return facts
}

// lateEffects are the effects that are owed and that no wanted task asks for: those of removals
// that were interrupted.
func (r *run) lateEffects() map[string][]string {
	out := map[string][]string{}
	for effect, by := range r.led.Effects.List() {
		if _, wanted := r.graph.Find(graph.Key(effect)); !wanted {
			out[effect] = by
		}
	}
	return out
}
