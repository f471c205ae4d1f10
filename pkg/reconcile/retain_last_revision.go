package reconcile

import (
	"cmp"
	"context"
	"fmt"

	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/reconcile/probation"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/tasks"
)

// While new documents cannot be applied, the node still works, and passes keep the last revision
// right. No part of the new documents is applied alone, because nobody knows which parts work
// without the rest.

// retainNetwork plans to keep the node's present network while a switch is not made.
func (p planner) retainNetwork(ctx context.Context, to target) (*plan, error) {
	v, led := p.v, p.led
	rev, err := ledger.ReadRevision(v.Files, led.Head().Current)
	if err == nil && rev.Network == to.sw.Had.Name {
		if to, err = p.retain(to, rev); err != nil {
			return nil, err
		}
		return p.planSteps(ctx, to)
	}
	to.sw.Stuck = true
	to.notes = nil
	if to.graph, err = graph.New[tasks.Task](nil, tasks.AsNodes{}, graph.Options{}); err != nil {
		return nil, fmt.Errorf("skip the changes of a pass: %w", err)
	}
	r := &plan{target: to, steps: noSteps(), led: led, pruning: &ownership.Removals{},
		trials: probation.Load(v.Files, p.pass.Log, p.pass.CacheOnly)}
	r.ownership, err = ownership.Begin(to.graph, led)
	return r, err
}

// lastBuilt returns the last revision as the target if the documents ask for something that is
// impossible on this host, such as a network of another cloud or an MTU above the link's. It
// returns why if there is no revision to keep, as on a fresh node, or if that revision cannot be
// built either.
func (p planner) lastBuilt(to target, why error) (target, error) {
	current := p.led.Head().Current
	if current == 0 || to.desired.Pinned != nil {
		return to, why
	}
	rev, err := ledger.ReadRevision(p.v.Files, current)
	if err != nil {
		return to, why
	}
	kept, err := p.retain(to, rev)
	if err != nil {
		return to, fmt.Errorf("%w; and the agent cannot repair what is in force: %w", why, err)
	}
	kept.notes = to.notes
	kept.unbuilt = fmt.Errorf("the agent keeps revision %d in force, because %s of the documents cannot be "+
		"applied here: %w", rev.Number, generation.Name(to.desired.Snapshot.Generation, to.desired.Snapshot.Digest), why)
	return kept, nil
}

// retain returns a target that keeps what a revision has, in place of the target to.
func (p planner) retain(to target, rev *ledger.Revision) (kept target, err error) {
	kept.sw = to.sw
	if kept.desired, err = desired.FromRevision(rev, p.v.Files, p.pass.Assets); err != nil {
		return kept, graph.Permanent(fmt.Errorf("keep %s as it is in revision %d: %w", rev.Network, rev.Number, err))
	}
	if a, _ := ledger.ReadApplied(p.v.Files); a != nil && !a.Time.Before(rev.Time) { // it wanted the same as rev
		kept.desired.Snapshot.Revision = statestore.Revision{Generation: a.Generation, Digest: a.Digest}
	}
	kept.desired.Node.Drift = to.desired.Node.Drift
	kept.graph, kept.notes, err = kept.desired.Graph(p.v.Facts, model.Discovered{}, p.pass.Assets)
	return kept, err
}

// unmade returns why the node does not match the documents although the pass is right. It returns
// nil if the node matches them, or if only time is needed.
func (to target) unmade() error { return cmp.Or(to.unbuilt, to.sw.Failure()) }

// annotate adds to a plan that is only shown why it does not follow the documents.
func (to target) annotate(p Pass, out *report.Plan, v host.View) {
	if to.unbuilt != nil {
		out.Warn(to.unbuilt.Error())
	}
	if why := suppressed(p.Rollout(), v.Files, to.desired); why != nil {
		out.Warn(why.Error())
	}
}
