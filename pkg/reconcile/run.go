package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/discover"
	"github.com/netwright/netwright/pkg/reconcile/drift"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/reconcile/migrate"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/reconcile/probation"
	"github.com/netwright/netwright/pkg/reconcile/starts"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// TrialLook is when to look again, at most, while a unit is not known to run from its new settings,
// or kubelet makes its Node.
const TrialLook = 5 * time.Second

// run is one pass under way: what is wanted, then what nobody wants any more.
type run struct {
	desired *desired.State
	sw      *migrate.Switch
	led     *ledger.Ledger
	custody *ownership.Transaction
	pruning *ownership.Removals
	notes   []model.Note
	lives   []report.Note // of certificates that end
	amiss   []report.Note // with the change, which stayed
	graph   *graph.Graph[tasks.Task]
	changes *changes.Set
	rep     graph.Report[tasks.Task]

	trials    *probation.Trials
	refused   map[graph.Key]error // by a task's first key: its unit did not come up with it
	lookAgain bool                // a unit is coming up
	awaits    bool                // the change is kept only if somebody confirms it
	halfway   bool                // a switch of networks was begun and is not made
	unbuilt   error               // why the set is the last revision's, and not that of the documents
	unwritten error               // why the pass only brings back what was right

	guard    *guard // of what cuts the node off; nil: nothing does
	removals *changes.Set
	pruneRep graph.Report[tasks.Task]
	learnt   ledger.Learnt       // of the Kubernetes API
	late     map[string][]string // effects owed that only the removals' graph has
}

// begin plans a pass. It reads the host and changes nothing.
func (p Pass) begin(ctx context.Context, d *desired.State, v host.View, led *ledger.Ledger) (*run, error) {
	d, err := desired.Target(d, led, v, p.Assets)
	if err != nil {
		return nil, err
	}
	if l, ok := v.(interface{ Follow([]string) }); ok && d.Held == nil {
		l.Follow(d.Node.FollowLinks)
	}
	p.Sources().AskCloud(ctx, d, v)
	r := &run{desired: d, led: led, removals: changes.NewSet()}
	d.Had = led.Head().Network
	if d.Waiting != nil || !d.Taken.IsZero() {
		d.KeepRenewed(v, led)
	}
	found, learnt, heard := p.Sources().Discover(ctx, d, v)
	r.learnt = learnt
	p.Sources().AskEC2(ctx, d, v.Facts(), &found)
	if r.graph, r.notes, err = d.Graph(v.Facts(), found, p.Assets); err != nil {
		return r, r.keepBuilt(ctx, p, v, err)
	}
	if p.Hooks.Built != nil {
		p.Hooks.Built(d, r.graph.Order(), v)
	}
	r.notes = append(r.notes, heard...)
	if r.sw, err = migrate.Leave(ctx, d, r.graph, v, led, p.circumstances(d, v, led)); err != nil {
		return nil, err
	}
	if r.sw.Begins() {
		if r.graph, r.notes, err = d.Graph(r.sw.Without(v.Facts()), model.Discovered{}, p.Assets); err != nil {
			return nil, err
		}
		if r.graph, err = r.sw.Order(r.graph, v); err != nil {
			return nil, err
		}
	}
	r.notes = append(r.notes, linksOnTheWay(v, r.graph)...)
	if r.sw == nil || r.sw.Held == nil {
		if err := r.plan(ctx, p, v); err != nil {
			return nil, err
		}
	}
	if r.sw.Begins() {
		r.sw.Held, r.sw.Waits = r.sw.Unfit(r.rep, migrate.Essential(v, r.pruneRep))
	}
	if r.sw != nil && r.sw.Held != nil {
		return r, r.keepNetwork(ctx, p, v)
	}
	return r, nil
}

// plan plans what the graph wants, and then what nobody wants any more.
func (r *run) plan(ctx context.Context, p Pass, v host.View) (err error) {
	r.lives = issue.Ending(r.graph, r.desired.Node.Name, time.Now())
	if r.custody, err = ownership.Begin(r.graph, r.led); err != nil {
		return err
	}
	r.custody.Changed = ownership.PolicyOf(r.desired)
	if pin := r.led.Head().Held; pin != nil && r.desired.Held != nil {
		r.custody.Held = pin.Revision
	}
	if r.pruning, err = r.custody.Prune(ctx, v, r.sw.Begins(), r.sw.Tail()); err != nil {
		return err
	}
	if err = execute.PayDone(ctx, v, r.led); err != nil {
		return err
	}
	r.trials = probation.Load(v, p.Log, p.Known)
	r.refused = r.trials.Held(v, r.graph, r.custody.Set, time.Now())
	maps.Copy(r.refused, failedBoots(r.custody.Set, v, time.Now()))
	if r.sw.Begins() {
		maps.Copy(r.refused, fetch.Unfetched(ctx, v, r.graph))
	}
	r.custody.Judge = drift.New(r.custody.Set, r.led, v, r.desired, p.Afresh, time.Now())
	r.changes, r.rep = execute.Plan(ctx, r.graph, v, r.led.Owed(), r.refused, r.custody.Judge, r.pruning.Gone...)
	r.custody.Judge.FindMissing(ctx, r.rep)
	r.trials.Remark(ctx, v, r.graph, r.changes)
	r.custody.Judge.Prove(ctx, r.changes, r.graph, v, r.desired.Node)
	r.removals, r.pruneRep = changes.NewSet(), graph.Report[tasks.Task]{}
	if r.pruning.Graph != nil && changes.Failure(changes.Allowed(r.rep)) == nil {
		r.late = r.owedLate()
		r.removals, r.pruneRep = execute.Plan(ctx, r.pruning.Graph, v, r.late, r.refused, nil, r.ahead()...)
		(*drift.Judge)(nil).Prove(ctx, r.removals, r.pruning.Graph, v, r.desired.Node)
	}
	return nil
}

// ahead is what the removals of a switch find when their turn comes: what the old network left is
// gone.
func (r *run) ahead() (facts []host.Fact) {
	if r.sw.Begins() {
		for _, c := range r.changes.ByKey {
			facts = append(facts, c.Pending...)
		}
	}
	return facts
}

// owedLate are the effects that are owed and that no wanted task asks for: those of removals that
// were interrupted.
func (r *run) owedLate() map[string][]string {
	out := map[string][]string{}
	for effect, by := range r.led.Owed() {
		if _, wanted := r.graph.Find(graph.Key(effect)); !wanted {
			out[effect] = by
		}
	}
	return out
}

// report says what the run has planned or done.
func (r *run) report(changed report.State) *report.Plan {
	waits := r.sw.Step()
	list := slices.Concat(changes.Steps(r.rep, r.changes, changed, r.custody.Judge.TellPods), changes.Steps(r.pruneRep, r.removals, changed, nil), waits)
	p := r.desired.Report(r.notes, r.led, list, len(r.rep.Results)+len(r.pruneRep.Results)+len(waits))
	p.Switch, p.Kinds, p.Owed = r.sw.Report(), kindsOf(r.rep, r.pruneRep), slices.Sorted(maps.Keys(r.led.Owed()))
	if p.Again = r.custody.Judge.Repairs().LookAgain(); r.lookAgain && (p.Again.IsZero() || time.Until(p.Again) > TrialLook) {
		p.Again = time.Now().Add(TrialLook)
	}
	p.Again = changes.Soonest(p.Again, r.rep)
	r.raise(p)
	p.Notes = slices.Concat(p.Notes, r.amiss, r.lives, r.pruning.Notes)
	for _, n := range r.trials.Notes {
		p.Notes = append(p.Notes, report.Note{Level: string(n.Level), Origin: n.Origin, Text: n.Text})
	}
	if r.pruning.Graph != nil && len(r.pruneRep.Results) == 0 {
		p.Notes = append(p.Notes, report.Note{Level: "info", Text: fmt.Sprintf("%d keys are no longer wanted; they are removed when all that is wanted is right", r.pruning.Graph.Len())})
	}
	return p
}

// kindsOf counts tasks by the kind of their first key.
func kindsOf(reps ...graph.Report[tasks.Task]) map[string]int {
	out := map[string]int{}
	for _, rep := range reps {
		for i := range rep.Results {
			out[rep.Results[i].Node.Owns()[0].Kind()]++
		}
	}
	return out
}

// converge makes a pass on a host that is open for writing.
func (p Pass) converge(ctx context.Context, d *desired.State, h *host.Host, led *ledger.Ledger) (*report.Plan, error) {
	_, unsettled := probation.Load(h, p.Log, p.Known).Settle(ctx, h, led) // of an earlier pass; what it takes back is refused below
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.Hooks.enter("plan")
	h.ClearLeftovers(unfinished(led)) // before anybody asks whether a directory is empty
	r, err := p.begin(ctx, d, h, led)
	if err != nil {
		return nil, errors.Join(unsettled, err)
	}
	// What cannot be written down holds up nothing that needs no note.
	beside := errors.Join(unsettled, discover.Keep(ctx, h, r.learnt))
	plan, err := p.carryOut(ctx, h, r)
	var undone error
	if d != nil {
		undone = d.Undone
	}
	if !triedAgain(errors.Join(err, undone)) { // else it is cordoned until the switch is made, or given up
		p.uncordon(ctx, h)
	}
	return plan, errors.Join(err, beside)
}

// carryOut makes what a run has planned.
func (p Pass) carryOut(ctx context.Context, h *host.Host, r *run) (*report.Plan, error) {
	h.ClearLeftovers(directories(r.graph, r.pruning.Graph))
	before := r.report(report.Planned)
	if r.sw != nil && r.sw.Stuck {
		return before, r.sw.Failure()
	}
	if before.Summary.Changes() > 0 {
		if why := p.heldBack(h, r.desired); why != nil && !r.refuseUnproved(h, why) {
			return notApplied(before, why), why
		}
	}
	if p.Hooks.OnPlan != nil {
		p.Hooks.OnPlan(before)
	}
	if before.Summary.Changes() == 0 {
		return r.unchanged(ctx, p, h, before)
	}
	p.Hooks.enter("apply")
	whole := ctx // what the guard returns ends with the checkpoint
	guard, ctx, err := p.guard(ctx, h, r)
	if err == nil {
		err = r.write(ctx, p, h)
	}
	if err != nil {
		if err = errors.Join(err, guard.settle(ctx, nil)); p.mayNotGoOn(whole, err) {
			return before, err
		}
		if r.sw.Begins() {
			return p.instead(whole, h, r, err)
		}
		guard, ctx = nil, whole
		r.bringBackOnly(err)
		_ = r.write(ctx, p, h) // what of the rest can be written is
	}
	r.guard = guard
	if guard != nil { // a switch that cannot be taken back is not begun, and cordons nobody
		guard.begun = func() { p.cordon(whole, h, r) }
	}
	if err := r.apply(ctx, p, h); err != nil {
		return before, errors.Join(err, guard.settle(ctx, r.sw.Broken(err)))
	}
	if err := r.settle(ctx, whole, p, h, r.led, guard); err != nil {
		return notApplied(before, err), err
	}
	failed, tried := r.trials.Settle(whole, h, r.led)
	probation.Fail(r.rep, failed)
	r.awaitStarts(whole, p, h)
	err = errors.Join(r.end(ctx, p, h), tried, r.unmade(), r.unwritten)
	return p.tellAwaits(r.keepArchives(ctx, p, h, r.report(report.Done)), h), err
}

// apply makes what was planned, and then takes away what nobody wants any more.
func (r *run) apply(ctx context.Context, p Pass, h *host.Host) error {
	done, rep, err := execute.Apply(ctx, r.graph, h, r.led, r.changes, r.options(p, r.custody.Judge), r.pruning.Gone...)
	if err != nil {
		return err
	}
	// The ledger made its own directory when it wrote down what was to come.
	if own := tasks.FileKey(ledger.Dir); done.Get(own) == nil && r.changes.Get(own) != nil {
		done.Put(own, r.changes.Get(own))
	}
	r.changes, r.rep = done, rep
	r.custody.Judge.FindMissing(ctx, rep)
	planned := r.removals
	r.removals, r.pruneRep.Results = changes.NewSet(), nil
	if r.pruning.Graph == nil || changes.Failure(changes.Allowed(rep)) != nil || r.sw.Unfinished(rep) != nil {
		return nil
	}
	p.Hooks.enter("remove")
	r.removals, r.pruneRep, err = execute.Apply(ctx, r.pruning.Graph, h, r.led, planned, r.options(p, nil))
	return err
}

// settle has what the pass changed proved: it stays, or is undone. ctx ends with the checkpoint,
// whole with the pass.
func (r *run) settle(ctx, whole context.Context, p Pass, h *host.Host, led *ledger.Ledger, guard *guard) error {
	p.Hooks.enter("settle")
	late := r.sw.Unfinished(r.rep, migrate.Essential(h, r.pruneRep))
	if r.sw.Begins() && late == nil {
		late = r.sw.Arrive(ctx, h, led)
	}
	r.halfway = late != nil
	guard.waitFor(p.waiting().Starting(ctx, h, r.rep, r.changes))
	if err := guard.settle(ctx, r.await(ctx, p, h, guard, late)); err != nil { // of what is undone nothing is on trial
		return errors.Join(err, r.trials.TakeBack(context.WithoutCancel(whole), h))
	}
	r.amiss = guard.warnings()
	return nil
}

// unchanged ends a pass that had nothing to change.
func (r *run) unchanged(ctx context.Context, p Pass, h *host.Host, before *report.Plan) (*report.Plan, error) {
	if r.awaitStarts(ctx, p, h) {
		before = r.report(report.Planned)
	}
	err := errors.Join(r.end(ctx, p, h), r.unmade(), r.writable(ctx, p, h))
	return p.tellAwaits(r.keepArchives(ctx, p, h, before), h), err
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
	r.custody.Judge.NameWriters(ctx, h)
	err := r.custody.Settle(context.WithoutCancel(ctx), h, ownership.Ending{
		Rep: r.rep, Changed: r.changes, Pruned: r.pruning, Removed: r.pruneRep.Results, By: p.by(), Desired: r.desired,
		Halfway: r.halfway, Proof: cmp.Or(r.guard.proof(), p.confirmed),
	})
	if failed := changes.Failure(all); failed != nil {
		return failed
	}
	// All is right: nothing is held back any more.
	return errors.Join(err, r.trials.Drop(context.WithoutCancel(ctx), h, func(t ledger.Trial) bool { return t.State == ledger.TrialHeld }))
}

// made is the change that the pass makes, for the history, should it be taken back.
func (r *run) made(p Pass) ledger.Undone {
	return ledger.Undone{
		By: p.by(), Network: r.desired.Network(), Generation: r.desired.Snapshot.Generation, Digest: r.desired.Snapshot.Digest, Tasks: len(r.custody.Set.List),
	}
}

// awaitStarts looks at the units that were started; false: there are none.
func (r *run) awaitStarts(ctx context.Context, p Pass, h *host.Host) bool {
	any, again := p.waiting().Await(ctx, h, r.rep, r.changes)
	r.lookAgain = r.lookAgain || again
	return any
}

func (p Pass) waiting() starts.Waiting { return starts.Waiting{Daemon: p.OfDaemon, Ready: p.Ready} }

// options are how the run is made so.
func (r *run) options(p Pass, judge *drift.Judge) execute.Options {
	return execute.Options{
		Log: p.Log, Judge: judge, Refused: r.refused, Guard: r.guard, Unwritten: r.unwritten != nil, Generation: r.desired.Snapshot.Generation, Hooks: p.Hooks.Hooks,
	}
}

// Sources are whom the pass asks.
func (p Pass) Sources() discover.Sources {
	return discover.Sources{Host: p.Host, API: p.API, EC2: p.EC2, Live: p.live(), Known: p.Known, Answers: p.Answers}
}
