package reconcile

import (
	"context"
	"maps"
	"strings"
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
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// target is what a pass works towards: what the documents want, or a revision that is kept.
type target struct {
	desired *desired.State
	graph   *tasks.Graph
	notes   []model.Note
	sw      *migrate.Switch // nil: the node already has the wanted network
	unbuilt error           // why the target is the last revision and not what the documents want
}

// steps are the changes of a pass, planned or made, and the result of each task: first for what is
// wanted, then for what nobody wants any more.
type steps struct{ wanted, unwanted changes.Work }

func noSteps() steps {
	return steps{changes.Work{Changes: changes.NewSet()}, changes.Work{Changes: changes.NewSet()}}
}

// plan is what a pass is about to apply. A plan that makes less is a copy: see [plan.refusing].
type plan struct {
	target
	steps
	led       *ledger.Ledger
	ownership *ownership.Transaction
	pruning   *ownership.Removals
	expiries  []report.Note // about certificates that end
	trials    *probation.Trials
	refused   map[graph.Key]error // by each task's first key: why the task is not made
	unwritten error               // why the pass makes only repairs
	apiCache  ledger.APICache     // what the Kubernetes API answered
}

// plan plans the pass. It reads the host and changes nothing.
func (p Pass) plan(ctx context.Context, d *desired.State, v host.View, led *ledger.Ledger) (*plan, error) {
	return planner{p, v, led}.plan(ctx, d)
}

// show plans a pass that is not applied.
func (p Pass) show(ctx context.Context, d *desired.State, v host.View, led *ledger.Ledger) (*plan, error) {
	if d != nil {
		d.Planned(v.Files, mayIssue(p))
	}
	return p.plan(ctx, d, v, led)
}

// planner plans a pass from a view of the host and from the ledger.
type planner struct {
	pass Pass
	v    host.View
	led  *ledger.Ledger
}

func (p planner) plan(ctx context.Context, d *desired.State) (*plan, error) {
	_ = host.UnmapProgram() // it only saves memory: after an error the pages stay
	to, learnt, err := p.target(ctx, d)
	if err != nil {
		return nil, err
	}
	var r *plan
	if to.sw == nil || to.sw.Blocked == nil {
		if r, err = p.planSteps(ctx, to); err != nil {
			return nil, err
		}
	}
	if to.sw.Begins() {
		to.sw.Blocked, to.sw.Waits = to.sw.Unfit(r.wanted.Rep, migrate.Essential(p.v, r.unwanted.Rep))
	}
	if to.sw != nil && to.sw.Blocked != nil {
		if r, err = p.retainNetwork(ctx, to); err != nil {
			return nil, err
		}
	}
	r.apiCache = learnt
	return r, nil
}

// withoutOurKeys returns the host's facts without the keys that the agent set in containerd's own
// file. Those keys are removed when no document wants them, so their values are not containerd's
// own.
func withoutOurKeys(f *host.Facts, led *ledger.Ledger) *host.Facts {
	if f.Runtime.Name != "containerd" || f.Runtime.HasDefaultDirs() {
		return f // so no entry of the ledger is decoded
	}
	var keys []string
	for key, e := range led.Entries() {
		if key.Kind() == tasks.KindTOML && e.Mode == ledger.Owned && !e.Released {
			keys = append(keys, key.Name()[strings.LastIndexByte(key.Name(), '.')+1:])
		}
	}
	if len(keys) == 0 {
		return f
	}
	out := *f
	out.Runtime = f.Runtime.Without(keys)
	return &out
}

// target returns what the pass works towards, and what the Kubernetes API said about it.
func (p planner) target(
	ctx context.Context, d *desired.State,
) (to target, learnt ledger.APICache, err error) {
	by, v, led := p.pass, p.v, p.led
	d, err = desired.Target(d, led, v, by.Assets)
	if err != nil {
		return to, learnt, err
	}
	if l, ok := v.Files.(interface{ Follow([]string) }); ok && d.Pinned == nil {
		l.Follow(d.Node.FollowLinks)
	}
	by.Sources().AskCloud(ctx, d, v)
	d.Had = led.Head().Network
	if d.Waiting != nil || !d.Taken.IsZero() {
		d.RetainRenewed(v.Files, led)
	}
	found, learnt, heard, err := by.Sources().Discover(ctx, d, v)
	if err != nil {
		return to, learnt, err
	}
	by.Sources().AskEC2(ctx, d, v.Facts, &found)
	to.desired = d
	facts := withoutOurKeys(v.Facts, led)
	if to.graph, to.notes, err = d.Graph(facts, found, by.Assets); err != nil {
		to, err = p.lastBuilt(to, err)
		return to, learnt, err
	}
	if by.Hooks.Built != nil {
		by.Hooks.Built(d, to.graph.Order(), v)
	}
	to.notes = append(to.notes, heard...)
	if to.sw, err = migrate.Leave(ctx, d, to.graph, v, led, by.circumstances(d, v.Files, led)); err != nil {
		return to, learnt, err
	}
	if to.sw.Begins() {
		if to.graph, to.notes, err = d.Graph(to.sw.Without(facts), model.Discovered{}, by.Assets); err != nil {
			return to, learnt, err
		}
		if to.graph, err = to.sw.Order(to.graph, v); err != nil {
			return to, learnt, err
		}
	}
	to.notes = append(to.notes, linksOnTheWay(v, to.graph)...)
	return to, learnt, nil
}

// planSteps plans what the target wants, and then the removal of what nobody wants any more.
func (p planner) planSteps(ctx context.Context, to target) (r *plan, err error) {
	v, led := p.v.Snapshot(), p.led
	r = &plan{target: to, led: led, expiries: issue.Ending(to.graph, to.desired.Node.Name, time.Now())}
	if r.ownership, err = ownership.Begin(r.graph, r.led); err != nil {
		return nil, err
	}
	r.ownership.Changed = ownership.PolicyOf(r.desired)
	if pin := r.led.Head().Pin; pin != nil && r.desired.Pinned != nil {
		r.ownership.PinnedAt = pin.Revision
	}
	if r.pruning, err = r.ownership.Prune(ctx, v, r.sw.Begins(), r.sw.Tail()); err != nil {
		return nil, err
	}
	if err = execute.AckDone(ctx, v, r.led); err != nil {
		return nil, err
	}
	if _, err = ledger.Trials(v.Files); host.Unread(err) {
		return nil, err
	}
	failed, err := failedBoots(r.ownership.Set, v, time.Now())
	if err != nil {
		return nil, err
	}
	r.trials = probation.Load(v.Files, p.pass.Log, p.pass.CacheOnly)
	r.refused = r.trials.Suppressed(v, r.graph, r.ownership.Set, time.Now())
	maps.Copy(r.refused, failed)
	maps.Copy(r.refused, changes.SameFiles(v, r.graph))
	if r.sw.Begins() {
		maps.Copy(r.refused, fetch.Unfetched(ctx, v, r.graph))
	}
	r.ownership.Judge = drift.New(r.ownership.Set, r.led, v, r.desired, p.pass.ForceRepair, time.Now())
	r.wanted = execute.Plan(ctx, r.graph, v, r.led.Effects.List(), r.refused, r.ownership.Judge, r.pruning.Gone...)
	r.ownership.Judge.FindMissing(ctx, r.wanted.Rep)
	r.trials.Remark(ctx, v, r.wanted)
	r.ownership.Judge.Prove(ctx, r.wanted, v, r.desired.Node)
	r.unwanted = changes.Work{Graph: r.pruning.Graph, Changes: changes.NewSet()}
	if r.unwanted.Graph != nil && changes.Failure(changes.Allowed(r.wanted.Rep)) == nil {
		r.unwanted = execute.Plan(ctx, r.unwanted.Graph, v, r.lateEffects(), r.refused, nil, pendingFacts(r)...)
		(*drift.Judge)(nil).Prove(ctx, r.unwanted, v, r.desired.Node)
	}
	return r, nil
}

// pendingFacts returns the facts that the removals of a switch find when their turn comes: by then
// the remains of the old network are gone.
func pendingFacts(r *plan) (facts []host.Fact) {
	if r.sw.Begins() {
		for _, c := range r.wanted.Changes.ByKey {
			facts = append(facts, c.Pending...)
		}
	}
	return facts
}

// lateEffects returns the pending effects that no wanted task asks for. They are effects of
// removals that were interrupted.
func (r *plan) lateEffects() map[string][]string {
	out := map[string][]string{}
	for effect, by := range r.led.Effects.List() {
		if _, wanted := r.graph.Find(graph.Key(effect)); !wanted {
			out[effect] = by
		}
	}
	return out
}
