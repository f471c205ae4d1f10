package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
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
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/reconcile/starts"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// outcome is the result of a pass that applied its plan.
type outcome struct {
	plan *plan
	steps
	notes     []report.Note // about how the plan was applied
	guard     *guard.Guard  // for changes that may cut the node off; nil: there are none
	lookAgain bool          // a unit is still starting
	awaits    bool          // the change is kept only if somebody confirms it
	halfway   bool          // a switch of networks was begun and is not complete
}

// converge makes a pass on a host that is open for writing. It returns no outcome if the pass was
// not made to its end.
func (p Pass) converge(
	ctx context.Context, d *desired.State, h *host.Host, led *ledger.Ledger,
) (*report.Plan, *outcome, error) {
	// Judge settles the trials of an earlier pass. A change that it takes back is refused below.
	_, unsettled := probation.Load(h.Live.Files, p.Log, p.CacheOnly).Judge(ctx, h, led)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	p.Hooks.Enter("plan")
	h.Files.RemoveStale(unfinished(led)) // before a task checks whether a directory is empty
	r, err := p.plan(ctx, d, h.Live.View(), led)
	if err != nil {
		return nil, nil, errors.Join(unsettled, err)
	}
	// An error of these writes does not stop a change that needs no entry in the ledger.
	beside := errors.Join(unsettled, discover.Save(ctx, h, r.apiCache))
	out, made, err := p.carryOut(ctx, h, r)
	var undone error
	if d != nil {
		undone = d.Undone
	}
	if !rollout.RetriesLater(errors.Join(err, undone)) { // otherwise it stays cordoned until the switch ends
		p.Rollout().Uncordon(ctx, h)
	}
	return out, made, errors.Join(err, beside)
}

// carryOut applies the plan.
func (p Pass) carryOut(ctx context.Context, h *host.Host, r *plan) (*report.Plan, *outcome, error) {
	h.Files.RemoveStale(append(directories(r.graph, r.pruning.Graph), checkpoint.Dir))
	before := r.report()
	if r.sw != nil && r.sw.Stuck {
		return before, nil, r.sw.Failure()
	}
	if before.Summary.Changes() > 0 {
		if why := suppressed(p.Rollout(), h.Live.Files, r.desired); why != nil {
			if r = r.withoutUnsafe(h, why); r == nil {
				return before.NotApplied(why), nil, why
			}
		}
	}
	if p.Hooks.OnPlan != nil {
		p.Hooks.OnPlan(before)
	}
	if before.Summary.Changes() == 0 {
		return (&outcome{plan: r, steps: r.steps}).endUnchanged(ctx, p, h, before)
	}
	p.Hooks.Enter("apply")
	whole := ctx // the context that the guard returns ends with the checkpoint
	prefetches := execute.Prefetch(ctx, r.wanted, h, r.refused)
	defer prefetches.Discard()
	guard, ctx, r, err := p.prepare(ctx, h, r)
	if err != nil {
		if err = errors.Join(err, guard.Finish(ctx, nil)); mayNotGoOn(whole, p.ConfirmWithin, err) {
			return before, nil, err
		}
		if r.sw.Begins() {
			return p.instead(whole, h, r, err)
		}
		guard, ctx = nil, whole
		r, _ = r.restoreOnly(err).write(ctx, p, h) // it writes down what it can of the rest
	}
	o := &outcome{plan: r, steps: noSteps(), guard: guard}
	if guard != nil { // a switch without an undo is not begun, so its node is not cordoned
		guard.Begun = func() { o.cordon(whole, p, h) }
	}
	if err := o.apply(ctx, p, h, prefetches); err != nil {
		return before, nil, errors.Join(err, guard.Finish(ctx, r.sw.Broken(err)))
	}
	if err := o.confirm(ctx, whole, p, h); err != nil {
		return before.NotApplied(err), nil, err
	}
	failed, tried := r.trials.Judge(whole, h, r.led)
	probation.Fail(o.wanted.Rep, failed)
	o.awaitStarts(whole, p, h)
	err = errors.Join(o.end(ctx, p, h), tried, r.unmade(), r.unwritten)
	return noteAwaits(p.ConfirmWithin, o.cacheArchives(ctx, p.Ready, h, o.report(report.Done)), h.Live.Files), o, err
}

// cordon makes the node unschedulable for a switch of networks.
func (o *outcome) cordon(ctx context.Context, p Pass, h *host.Host) {
	r := o.plan
	if !r.sw.Begins() || r.sw.Safe {
		return
	}
	err := p.Rollout().Cordon(ctx, h, r.apiCache, r.desired.Node.Name,
		fmt.Sprintf("netwright switches its network from %s to %s", r.sw.From.Name, r.sw.To.Name))
	if err == nil {
		return
	}
	o.notes = append(o.notes, report.Warning("the node could not be cordoned, and the switch goes on without "+
		"it: "+err.Error()))
	if p.Log != nil {
		p.Log.Warn("the node could not be cordoned, and the switch of networks goes on without it", zap.Error(err))
	}
}

// apply applies the wanted tasks, and then removes the keys that nobody wants any more.
func (o *outcome) apply(ctx context.Context, p Pass, h *host.Host, prefetches execute.Prefetches) (err error) {
	r := o.plan
	o.wanted, err = execute.Apply(ctx, r.wanted, h, r.led, o.options(p, r.ownership.Judge, prefetches),
		r.pruning.Gone...)
	if err != nil {
		return err
	}
	// The ledger created its own directory when it recorded the changes before they were made.
	own := tasks.FileKey(ledger.Dir)
	if c := r.wanted.Changes.Get(own); o.wanted.Changes.Get(own) == nil && c != nil {
		o.wanted.Changes.Put(own, c)
	}
	rep := o.wanted.Rep
	r.ownership.Judge.FindMissing(ctx, rep)
	if r.unwanted.Graph == nil || changes.Failure(changes.Allowed(rep)) != nil || r.sw.Unfinished(rep) != nil {
		return nil
	}
	p.Hooks.Enter("remove")
	o.unwanted, err = execute.Apply(ctx, r.unwanted, h, r.led, o.options(p, nil, prefetches))
	return err
}

// confirm has the guard probe what the pass changed. The change then stays or is undone. ctx ends
// with the checkpoint, whole with the pass.
func (o *outcome) confirm(ctx, whole context.Context, p Pass, h *host.Host) error {
	p.Hooks.Enter("settle")
	r := o.plan
	late := r.sw.Unfinished(o.wanted.Rep, migrate.Essential(h.Live.View(), o.unwanted.Rep))
	if r.sw.Begins() && late == nil {
		late = r.sw.Arrive(ctx, h, r.led)
	}
	o.halfway = late != nil
	if o.guard != nil && o.guard.Armed {
		p.Hooks.Enter(session.Prove)
	}
	acting := o.acting()
	o.guard.WaitFor(waiting(p).Starting(ctx, h, o.wanted, acting),
		func(ctx context.Context) error { return acting.Unread(ctx, h) })
	if err := o.guard.Finish(ctx, o.await(ctx, p, h, late)); err != nil { // a change that was undone is not on trial
		return errors.Join(err, r.trials.TakeBack(context.WithoutCancel(whole), h))
	}
	o.notes = append(o.notes, o.guard.Warnings()...)
	return nil
}

// endUnchanged ends a pass that had nothing to change.
func (o *outcome) endUnchanged(
	ctx context.Context, p Pass, h *host.Host, before *report.Plan,
) (*report.Plan, *outcome, error) {
	if o.awaitStarts(ctx, p, h) {
		before = o.report(report.Planned)
	}
	err := errors.Join(o.end(ctx, p, h), o.plan.unmade(), o.plan.writable(ctx, p, h))
	return noteAwaits(p.ConfirmWithin, o.cacheArchives(ctx, p.Ready, h, before), h.Live.Files), o, err
}

// end writes into the ledger how the pass ended. An error of the tasks comes before an error of
// these writes.
func (o *outcome) end(ctx context.Context, p Pass, h *host.Host) error {
	r, all, gone := o.plan, o.wanted.Rep, o.unwanted.Rep.Results
	if len(gone) > 0 {
		all.Results = slices.Concat(all.Results, gone)
	}
	if o.awaits {
		return changes.Failure(all)
	}
	r.ownership.Judge.NameWriters(ctx, h)
	err := r.ownership.Commit(context.WithoutCancel(ctx), h, ownership.Ending{
		Work: o.wanted, Pruned: r.pruning, Removed: gone, By: p.Session().Maker(), Desired: r.desired,
		Halfway: o.halfway, Proof: cmp.Or(o.guard.Proof(), p.confirmed),
	})
	if err != nil && r.ownership.Repeats {
		err = &UnwrittenError{err}
	}
	if failed := changes.Failure(all); failed != nil {
		return failed
	}
	// All is right, so no change is held back any more.
	return errors.Join(err,
		r.trials.Drop(context.WithoutCancel(ctx), h,
			func(t ledger.Probation) bool { return t.State == ledger.ProbationSuppressed }))
}

// acting returns the units that the pass had reloaded or restarted.
func (o *outcome) acting() starts.Acting {
	return slices.Concat(starts.Acts(o.wanted), starts.Acts(o.unwanted))
}

// awaitStarts waits for the units that the pass started, and returns false if there are none. It
// enqueues a reload that failed again.
func (o *outcome) awaitStarts(ctx context.Context, p Pass, h *host.Host) bool {
	for _, reload := range waiting(p).AwaitReloads(ctx, h, o.acting()) {
		o.plan.led.Effects.Enqueue(string(reload), "its last try, which failed")
	}
	any, again := waiting(p).Await(ctx, h, o.wanted)
	o.lookAgain = again
	return any
}

// options returns the options with which the plan is applied.
func (o *outcome) options(p Pass, judge *drift.Judge, prefetches execute.Prefetches) execute.Options {
	r := o.plan
	return execute.Options{
		Log: p.Log, Judge: judge, Refused: r.refused, Admission: o.guard, Unwritten: r.unwritten != nil,
		Generation: r.desired.Snapshot.Generation, Hooks: p.Hooks.Hooks, Prefetches: prefetches,
	}
}

// cacheArchives keeps a copy of each installed archive that this pass found right. Only a daemon
// that has said READY does that: it has the time, while a person who asks for a single pass should
// not wait for a copy that he may never need. If a copy cannot be kept, the node is right all the
// same, but needs the archive's URL when somebody deletes a plugin. The plan then has a note.
func (o *outcome) cacheArchives(ctx context.Context, ready bool, h *host.Host, out *report.Plan) *report.Plan {
	if !ready {
		return out
	}
	for i := range o.wanted.Rep.Results {
		res := &o.wanted.Rep.Results[i]
		a, ok := res.Node.(tasks.Archive)
		if !ok || res.State != graph.Done || o.wanted.Changes.Get(a.Owns()[0]) != nil {
			continue
		}
		if err := a.Cache(ctx, h); err != nil && ctx.Err() == nil {
			out.Notes = append(out.Notes, report.Note{Level: "warning", Origin: a.From,
				Text: err.Error() + "; the installed files are right; the agent fetches the archive again if " +
					"somebody deletes one of them"})
		}
	}
	return out
}
