package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/discover"
	"github.com/netwright/netwright/pkg/reconcile/drift"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/reconcile/guard"
	"github.com/netwright/netwright/pkg/reconcile/migrate"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/reconcile/probation"
	"github.com/netwright/netwright/pkg/reconcile/rollout"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// converge makes a pass on a host that is open for writing. The run is what it was made by.
func (p Pass) converge(
	ctx context.Context, d *desired.State, h *host.Host, led *ledger.Ledger,
) (*report.Plan, *run, error) {
	// of an earlier pass; what it takes back is refused below
	_, unsettled := probation.Load(h.Live.Files, p.Log, p.CacheOnly).Judge(ctx, h, led)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	p.Hooks.Enter("plan")
	h.Files.RemoveStale(unfinished(led)) // before anybody asks whether a directory is empty
	r, err := p.begin(ctx, d, h.Live.View(), led)
	if err != nil {
		return nil, nil, errors.Join(unsettled, err)
	}
	// What cannot be written down holds up nothing that needs no note.
	beside := errors.Join(unsettled, discover.Save(ctx, h, r.apiCache))
	plan, err := p.carryOut(ctx, h, r)
	var undone error
	if d != nil {
		undone = d.Undone
	}
	if !rollout.RetriesLater(errors.Join(err, undone)) { // else it is cordoned until the switch is made, or given up
		p.Rollout().Uncordon(ctx, h)
	}
	return plan, r, errors.Join(err, beside)
}

// carryOut makes what a run has planned.
func (p Pass) carryOut(ctx context.Context, h *host.Host, r *run) (*report.Plan, error) {
	h.Files.RemoveStale(directories(r.graph, r.pruning.Graph))
	before := r.report(report.Planned)
	if r.sw != nil && r.sw.Stuck {
		return before, r.sw.Failure()
	}
	if before.Summary.Changes() > 0 {
		if why := suppressed(p.Rollout(), h.Live.Files, r.desired); why != nil && !r.refuseUnsafe(h, why) {
			return before.NotApplied(why), why
		}
	}
	if p.Hooks.OnPlan != nil {
		p.Hooks.OnPlan(before)
	}
	if before.Summary.Changes() == 0 {
		return r.unchanged(ctx, p, h, before)
	}
	p.Hooks.Enter("apply")
	whole := ctx // what the guard returns ends with the checkpoint
	r.prefetches = execute.Prefetch(ctx, r.graph, h, r.changes, r.refused)
	defer r.prefetches.Discard()
	guard, ctx, err := p.prepare(ctx, h, r)
	if err != nil {
		if err = errors.Join(err, guard.Finish(ctx, nil)); mayNotGoOn(whole, p.ConfirmWithin, err) {
			return before, err
		}
		if r.sw.Begins() {
			return p.instead(whole, h, r, err)
		}
		guard, ctx = nil, whole
		r.restoreOnly(err)
		_ = r.write(ctx, p, h) // what of the rest can be written is
	}
	r.guard = guard
	if guard != nil { // a switch that cannot be taken back is not begun, and cordons nobody
		guard.Begun = func() { p.cordon(whole, h, r) }
	}
	if err := r.apply(ctx, p, h); err != nil {
		return before, errors.Join(err, guard.Finish(ctx, r.sw.Broken(err)))
	}
	if err := r.confirm(ctx, whole, p, h, r.led, guard); err != nil {
		return before.NotApplied(err), err
	}
	failed, tried := r.trials.Judge(whole, h, r.led)
	probation.Fail(r.rep, failed)
	r.awaitStarts(whole, p, h)
	err = errors.Join(r.end(ctx, p, h), tried, r.unmade(), r.unwritten)
	return noteAwaits(p.ConfirmWithin, cacheArchives(ctx, p.Ready, h, r, r.report(report.Done)), h.Live.Files), err
}

// cordon makes the node unschedulable for a switch of networks.
func (p Pass) cordon(ctx context.Context, h *host.Host, r *run) {
	if !r.sw.Begins() || r.sw.Safe {
		return
	}
	var err error
	r.apiCache, err = p.Rollout().Cordon(ctx, h, r.apiCache, r.desired.Node.Name,
		fmt.Sprintf("netwright switches its network from %s to %s", r.sw.From.Name, r.sw.To.Name))
	if err == nil {
		return
	}
	r.notes = append(r.notes, model.Note{Level: network.Warning,
		Text: "the node is not cordoned for the switch, which goes on: " + err.Error()})
	if p.Log != nil {
		p.Log.Warn("the node is not cordoned for the switch of networks, which goes on", zap.Error(err))
	}
}

// apply makes what was planned, and then takes away what nobody wants any more.
func (r *run) apply(ctx context.Context, p Pass, h *host.Host) error {
	done, rep, err := execute.Apply(ctx, r.graph, h, r.led, r.changes, r.options(p, r.ownership.Judge),
		r.pruning.Gone...)
	if err != nil {
		return err
	}
	// The ledger made its own directory when it wrote down what was to come.
	if own := tasks.FileKey(ledger.Dir); done.Get(own) == nil && r.changes.Get(own) != nil {
		done.Put(own, r.changes.Get(own))
	}
	r.changes, r.rep = done, rep
	r.ownership.Judge.FindMissing(ctx, rep)
	planned := r.removals
	r.removals, r.pruneRep.Results = changes.NewSet(), nil
	if r.pruning.Graph == nil || changes.Failure(changes.Allowed(rep)) != nil || r.sw.Unfinished(rep) != nil {
		return nil
	}
	p.Hooks.Enter("remove")
	r.removals, r.pruneRep, err = execute.Apply(ctx, r.pruning.Graph, h, r.led, planned, r.options(p, nil))
	return err
}

// confirm has what the pass changed proved: it stays, or is undone. ctx ends with the checkpoint,
// whole with the pass.
func (r *run) confirm(ctx, whole context.Context, p Pass, h *host.Host, led *ledger.Ledger, guard *guard.Guard) error {
	p.Hooks.Enter("settle")
	late := r.sw.Unfinished(r.rep, migrate.Essential(h.Live.View(), r.pruneRep))
	if r.sw.Begins() && late == nil {
		late = r.sw.Arrive(ctx, h, led)
	}
	r.halfway = late != nil
	guard.WaitFor(p.waiting().Starting(ctx, h, r.rep, r.changes))
	if err := guard.Finish(ctx, r.await(ctx, p, h, guard, late)); err != nil { // of what is undone nothing is on trial
		return errors.Join(err, r.trials.TakeBack(context.WithoutCancel(whole), h))
	}
	r.amiss = guard.Warnings()
	return nil
}

// unchanged ends a pass that had nothing to change.
func (r *run) unchanged(ctx context.Context, p Pass, h *host.Host, before *report.Plan) (*report.Plan, error) {
	if r.awaitStarts(ctx, p, h) {
		before = r.report(report.Planned)
	}
	err := errors.Join(r.end(ctx, p, h), r.unmade(), r.writable(ctx, p, h))
	return noteAwaits(p.ConfirmWithin, cacheArchives(ctx, p.Ready, h, r, before), h.Live.Files), err
}

// end writes down how the pass ended. Its error is first that of the tasks.
func (r *run) end(ctx context.Context, p Pass, h *host.Host) error {
	all := r.rep
	if len(r.pruneRep.Results) > 0 {
		all.Results = slices.Concat(r.rep.Results, r.pruneRep.Results)
	}
	if r.awaits {
		return changes.Failure(all)
	}
	r.ownership.Judge.NameWriters(ctx, h)
	err := r.ownership.Commit(context.WithoutCancel(ctx), h, ownership.Ending{
		Rep: r.rep, Changed: r.changes, Pruned: r.pruning, Removed: r.pruneRep.Results, By: p.Session().Maker(), Desired: r.desired,
		Halfway: r.halfway, Proof: cmp.Or(r.guard.Proof(), p.confirmed),
	})
	if failed := changes.Failure(all); failed != nil {
		return failed
	}
	// All is right: nothing is held back any more.
	return errors.Join(err,
		r.trials.Drop(context.WithoutCancel(ctx), h,
			func(t ledger.Probation) bool { return t.State == ledger.ProbationSuppressed }))
}

// awaitStarts looks at the units that were started; false: there are none.
func (r *run) awaitStarts(ctx context.Context, p Pass, h *host.Host) bool {
	any, again := p.waiting().Await(ctx, h, r.rep, r.changes)
	r.lookAgain = r.lookAgain || again
	return any
}

// options are how the run is made so.
func (r *run) options(p Pass, judge *drift.Judge) execute.Options {
	return execute.Options{
		Log: p.Log, Judge: judge, Refused: r.refused, Admission: r.guard, Unwritten: r.unwritten != nil,
		Generation: r.desired.Snapshot.Generation, Hooks: p.Hooks.Hooks, Prefetches: r.prefetches,
	}
}

// cacheArchives keeps what archives have put in place, where this pass found it right. That is for
// a daemon that has said READY: it has the time, and no one who asked for a single pass waits for a
// copy that he may never need. A node that cannot keep it is right all the same, and needs the
// archive's URL when somebody deletes a plugin: that is a note.
func cacheArchives(ctx context.Context, ready bool, h *host.Host, r *run, out *report.Plan) *report.Plan {
	if !ready {
		return out
	}
	for i := range r.rep.Results {
		res := &r.rep.Results[i]
		a, ok := res.Node.(tasks.Archive)
		if !ok || res.State != graph.Done || r.changes.Get(a.Owns()[0]) != nil {
			continue
		}
		if err := a.Cache(ctx, h); err != nil && ctx.Err() == nil {
			out.Notes = append(out.Notes, report.Note{Level: "warning", Origin: a.From,
				Text: err.Error() + "; what it installed is right, and is fetched again should somebody delete it"})
		}
	}
	return out
}
