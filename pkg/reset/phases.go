package reset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/reconcile/guard"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/reconcile/revert"
	"github.com/netwright/netwright/pkg/reconcile/starts"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// A reset has two phases: what the node may be reached by, under a checkpoint, then the rest, which
// cannot cut it off. Should the first cut it off, it is undone, and the node is as it was; the
// second is never undone, so that what it restarts is restarted once.

// phase is a part of a reset: first what is ours goes, then what was comes back.
type phase struct{ gone, back changes.Work }

// works are the parts of all phases, in order.
func (r *resetting) works() []changes.Work {
	return []changes.Work{r.risky.gone, r.risky.back, r.rest.gone, r.rest.back}
}

// pick takes those that may cut the node off, or the others.
func pick(gone []tasks.Removal, back []tasks.Restoration, risky bool) parts {
	return parts{
		slices.DeleteFunc(slices.Clone(gone),
			func(t tasks.Removal) bool { return (t.Disruption == tasks.MayCutOff) != risky }),
		slices.DeleteFunc(slices.Clone(back),
			func(t tasks.Restoration) bool { return (t.Disruption == tasks.MayCutOff) != risky }),
	}
}

// parts are what a phase is made of.
type parts struct {
	gone []tasks.Removal
	back []tasks.Restoration
}

// planPhase plans one phase. effects are those that are pending besides; proof is what is known of
// its changes.
func planPhase(
	ctx context.Context, v host.View, led *ledger.Ledger, of parts, effects []tasks.Task, proof tasks.Proof,
) (h phase, err error) {
	h.gone.Changes, h.back.Changes = changes.NewSet(), changes.NewSet()
	if len(of.gone) > 0 {
		g, err := ownership.ArrangeGone(v, of.gone, nil)
		if err != nil {
			return h, err
		}
		h.gone = execute.Plan(ctx, g, v, nil, nil, nil)
	}
	if len(of.back)+len(effects) > 0 {
		g, err := arrangeBack(led, of.back, effects)
		if err != nil {
			return h, err
		}
		h.back = execute.Plan(ctx, g, v, led.Effects.List(), nil, nil)
	}
	h.gone.Changes.ProveAll(proof)
	h.back.Changes.ProveAll(proof)
	return h, nil
}

// arrangeBack orders what comes back as it was set: a sysctl that changes others before those.
func arrangeBack(led *ledger.Ledger, list []tasks.Restoration, effects []tasks.Task) (*graph.Graph[tasks.Task], error) {
	all := make([]tasks.Task, 0, len(list))
	for _, t := range list {
		t.Requires = slices.DeleteFunc(slices.Clone(led.Entries()[t.Key].Needs),
			func(k graph.Key) bool { return !tasks.IsState(k) })
		all = append(all, t)
	}
	all = append(all, ownership.WithEffects(effects, all)...)
	g, err := graph.New(all, tasks.AsNodes{}, graph.Options{})
	if err != nil {
		return nil, fmt.Errorf("order what comes back: %w", err)
	}
	return g, nil
}

// do takes away and brings back. Each task is looked at again: much may have gone since the plan.
func (h *phase) do(ctx context.Context, r *resetting, p Reset, to *host.Host) (err error) {
	for _, w := range []*changes.Work{&h.gone, &h.back} {
		if w.Graph == nil {
			continue
		}
		w.Rep = tasks.Report{}
		if *w, err = execute.Apply(ctx, *w, to, r.led,
			execute.Options{Log: p.Session.Log, Admission: r.guard, Hooks: p.Hooks}); err != nil {
			return err
		}
	}
	return nil
}

// do resets, and gives directories the times that they had. guarded is the context of what the
// guard looks after.
func (r *resetting) do(ctx, guarded context.Context, g *guard.Guard, p Reset, h *host.Host) (*report.Plan, error) {
	var dirs []string
	for key := range r.led.Entries() {
		if file := tasks.FileOf(key); file != "" {
			dirs = append(dirs, path.Dir(file))
		}
	}
	h.Files.RemoveStale(dirs) // of a reset that was killed with all of its files in place, too
	planned := r.report(report.Planned)
	r.guard = g
	err := r.risky.do(guarded, r, p, h)
	if undone := g.Finish(guarded, nil); undone != nil {
		return planned.NotApplied(undone), errors.Join(err, fmt.Errorf("reset: %w. %s", undone, afterUndo))
	}
	r.guard = nil
	if err == nil {
		err = r.rest.do(ctx, r, p, h)
	}
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, w := range r.works() {
		starts.Waiting{}.AwaitReloads(ctx, h, starts.Acts(w))
		failed = append(failed, changes.Failure(w.Rep), unremovable(w.Rep))
	}
	if err = errors.Join(failed...); err == nil {
		err = r.times(h)
	}
	return r.report(report.Done), err
}

// unremovable is the error of a reset that leaves what only a person can have removed: whoever
// asked for it asked for all.
func unremovable(rep graph.Report[tasks.Task]) error {
	var stuck []error
	for i := range rep.Results {
		res := &rep.Results[i]
		if why, ok := errors.AsType[*tasks.UnremovableError](res.Err); ok && res.Because == "" {
			stuck = append(stuck, fmt.Errorf("%s stays: %w", why.Key, why.Err))
		}
	}
	if len(stuck) == 0 {
		return nil
	}
	return &changes.RunError{Err: errors.Join(stuck...)}
}

// afterUndo says where a reset that was undone leaves the node.
const afterUndo = "The node is as it was, but for the daemon, which is stopped and disabled (`systemctl enable --now " +
	"netwright-agent` takes it up again). " +
	"To reset all the same, give the node another way to be reached, or name in `probes` of /etc/netwright/agent.yaml " +
	"what must still answer"

// report says what the reset has planned or done.
func (r *resetting) report(changed report.State) *report.Plan {
	var list []report.Step
	total := 0
	for _, w := range r.works() {
		list = append(list, w.Steps(changed, nil)...)
		total += len(w.Rep.Results)
	}
	p := r.desired.Report(nil, r.led, list, total)
	p.Notes = append(p.Notes, r.pruning.Notes...)
	return p
}

// takeCheckpoint is the checkpoint of a reset's first phase. It is of no generation: what is undone
// bans none.
func (p Reset) takeCheckpoint(ctx context.Context, h *host.Host, r *resetting) (*guard.Guard, context.Context, error) {
	of := &r.risky
	if !of.gone.Changes.Any() && !of.back.Changes.Any() {
		return nil, ctx, nil
	}
	memory, err := r.remember(p.Session.Maker() + ", by reset")
	if err != nil {
		return nil, ctx, err
	}
	change := checkpoint.Change{Before: memory, Tasks: map[graph.Key]tasks.Task{}}
	guard.Work(of.gone).Undoable(&change)
	guard.Work(of.back).Undoable(&change)
	r.ownership.TimesBefore = ownership.TimesBefore(h.Live.Files, checkpoint.Around)
	return guard.Taker{Running: p.Session.Host.Running(), Settings: p.Session.Checkpoint, Log: p.Session.Log,
		API: p.Session.API, Node: r.desired.Node.Name}.Take(ctx, h, r.led, change)
}

// remember takes down what the ledger says before a reset, of the network too, and of what its
// first phase takes away and brings back.
func (r *resetting) remember(by string) (json.RawMessage, error) {
	head := r.led.Head()
	m := revert.LedgerBefore{By: by, Network: r.desired.Network(), Tasks: len(r.led.Entries()),
		Had: head.Network, Fingerprint: head.Fingerprint, Clean: head.Clean, PendingEffects: r.led.Effects.List()}
	for _, c := range []*changes.Set{r.risky.gone.Changes, r.risky.back.Changes} {
		for _, key := range slices.Sorted(maps.Keys(c.ByKey)) {
			if e, known := r.led.Entries()[key]; known {
				m.Keys = append(m.Keys, revert.EntryBefore{Key: key, Was: &e})
			}
		}
	}
	out, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode what the ledger says: %w", err)
	}
	return out, nil
}
