package reconcile

import (
	"context"
	"fmt"

	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/reconcile/probation"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Documents that are not applied leave a node that works, and is looked after: the pass works
// towards the last revision. Of the new documents nothing is applied, for no part of them is known
// to do without the rest.

// retainNetwork keeps the network that the node has, while a switch is not made.
func (r *run) retainNetwork(ctx context.Context, p Pass, v host.View) error {
	s := r.sw
	rev, err := ledger.ReadRevision(v.Files, r.led.Head().Current)
	if err != nil || rev.Network != s.Had.Name {
		s.Stuck = true
		r.notes, r.pruning, r.trials, r.changes = nil, &ownership.Removals{}, probation.Load(v.Files, p.Log,
			p.CacheOnly),
			changes.NewSet()
		if r.graph, err = graph.New[tasks.Task](nil, tasks.AsNodes{}, graph.Options{}); err != nil {
			return fmt.Errorf("make nothing of a pass: %w", err)
		}
		r.rep = graph.Report[tasks.Task]{}
		r.ownership, err = ownership.Begin(r.graph, r.led)
		return err
	}
	return r.retain(ctx, p, v, rev)
}

// retainBuilt keeps what the node has where the documents ask for what this host cannot have, a
// network on another cloud or an MTU above the link's. why is returned where there is nothing to
// keep: a fresh node is not touched, and a revision that cannot be had is no better.
func (r *run) retainBuilt(ctx context.Context, p Pass, v host.View, why error) error {
	current := r.led.Head().Current
	if current == 0 || r.desired.Pinned != nil {
		return why
	}
	rev, err := ledger.ReadRevision(v.Files, current)
	if err != nil {
		return why
	}
	notes, refused := r.notes, generation.Name(r.desired.Snapshot.Generation, r.desired.Snapshot.Digest)
	if err := r.retain(ctx, p, v, rev); err != nil {
		return fmt.Errorf("%w; nor is the node kept as it is: %w", why, err)
	}
	r.notes = notes
	r.unbuilt = fmt.Errorf("the node is kept as revision %d has it, for %s of the documents cannot be "+
		"applied here: %w", rev.Number, refused, why)
	return nil
}

// retain makes the run one that keeps what a revision has.
func (r *run) retain(ctx context.Context, p Pass, v host.View, rev *ledger.Revision) (err error) {
	policy := r.desired.Node.Drift
	if r.desired, err = desired.FromRevision(rev, v.Files, p.Assets); err != nil {
		return graph.Permanent(fmt.Errorf("keep %s as revision %d has it: %w", rev.Network, rev.Number, err))
	}
	r.desired.Node.Drift = policy
	if r.graph, r.notes, err = r.desired.Graph(v.Facts, model.Discovered{}, p.Assets); err != nil {
		return err
	}
	return r.plan(ctx, p, v)
}

// unmade is why the documents are not what the node has when the pass is right; nil: they are, or
// only time is needed.
func (r *run) unmade() error {
	if r.unbuilt != nil {
		return r.unbuilt
	}
	return r.sw.Failure()
}

// annotate puts into a plan that is only shown why it is not that of the documents.
func (r *run) annotate(p Pass, out *report.Plan, v host.View) {
	if r.unbuilt != nil {
		out.Notes = append(out.Notes, report.Note{Level: "warning", Text: r.unbuilt.Error()})
	}
	if why := suppressed(p.Rollout(), v.Files, r.desired); why != nil {
		out.Notes = append(out.Notes, report.Note{Level: "warning", Text: why.Error()})
	}
}
