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

// A reset has two phases. The first has what the node may be reached by, under a checkpoint. The
// second has the rest, which cannot cut the node off. If the first phase cuts the node off, it is
// undone, and the node is as it was. The second is never undone, so units that it restarts are
// restarted only once.

// phase is a part of a reset: first the agent's own keys are removed, then baselines are restored.
type phase struct{ gone, back changes.Work }

// works returns the parts of all phases, in order.
func (r *resetting) works() []changes.Work {
	return []changes.Work{r.risky.gone, r.risky.back, r.rest.gone, r.rest.back}
}

// pick returns the tasks that may cut the node off, or the others.
func pick(gone []tasks.Removal, back []tasks.Restoration, risky bool) parts {
	return parts{
		slices.DeleteFunc(slices.Clone(gone),
			func(t tasks.Removal) bool { return (t.Disruption == tasks.MayCutOff) != risky }),
		slices.DeleteFunc(slices.Clone(back),
			func(t tasks.Restoration) bool { return (t.Disruption == tasks.MayCutOff) != risky }),
	}
}

// parts are the tasks of a phase.
type parts struct {
	gone []tasks.Removal
	back []tasks.Restoration
}

// planPhase plans one phase. effects are other pending effects, and proof is what is proved about
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

// arrangeBack orders the restorations as the keys were set: a sysctl that changes others comes
// before those.
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
		return nil, fmt.Errorf("order what is restored: %w", err)
	}
	return g, nil
}

// do removes and restores. Each task looks at the host again, because much may be gone since the
// plan.
func (h *phase) do(ctx context.Context, to *host.Host, led *ledger.Ledger, opt execute.Options) (err error) {
	for _, w := range []*changes.Work{&h.gone, &h.back} {
		if w.Graph == nil {
			continue
		}
		w.Rep = tasks.Report{}
		if *w, err = execute.Apply(ctx, *w, to, led, opt); err != nil {
			return err
		}
	}
	return nil
}

// do makes the reset, and then restores the mtimes of directories. guarded is the context of the
// phase under the checkpoint.
func (r *resetting) do(ctx, guarded context.Context, g *guard.Guard, p Reset, h *host.Host) (*report.Plan, error) {
	var dirs []string
	for key := range r.led.Entries() {
		if file := tasks.FileOf(key); file != "" {
			dirs = append(dirs, path.Dir(file))
		}
	}
	h.Files.RemoveStale(dirs) // also files of a killed reset that had staged all of them
	planned := r.report(report.Planned)
	opt := execute.Options{Log: p.Session.Log, Admission: g, Hooks: p.Hooks}
	err := r.risky.do(guarded, h, r.led, opt)
	if undone := g.Finish(guarded, nil); undone != nil {
		return planned.NotApplied(undone), errors.Join(err, fmt.Errorf("reset: %w. %s", undone, afterUndo))
	}
	if err == nil {
		err = r.rest.do(ctx, h, r.led, opt)
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

// unremovable returns an error for a reset that leaves files which only a person can remove: the
// user asked to remove everything.
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

// afterUndo says what state an undone reset leaves.
const afterUndo = "The node is as it was, except that the daemon is stopped and disabled (`systemctl enable " +
	"--now netwright-agent` starts it again). To reset anyway, give the node another address at which it is " +
	"reached, or name in `probes` of /etc/netwright/agent.yaml what must still answer"

// report returns the plan or the result of the reset.
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

// takeCheckpoint takes the checkpoint of the first phase. It belongs to no generation, so an undo
// suppresses none.
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
	guard.PlannedWork(of.gone).Undoable(&change)
	guard.PlannedWork(of.back).Undoable(&change)
	r.ownership.TimesBefore = ownership.TimesBefore(h.Live.Files, checkpoint.Around)
	return guard.Taker{Running: p.Session.Host.Running(), Settings: p.Session.Checkpoint, Log: p.Session.Log,
		API: p.Session.API, Node: r.desired.Node.Name}.Take(ctx, h, r.led, change)
}

// remember records the ledger before a reset, also of the network, with the entries of the keys
// that the first phase removes or restores.
func (r *resetting) remember(by string) (json.RawMessage, error) {
	var keys []graph.Key
	for _, c := range []*changes.Set{r.risky.gone.Changes, r.risky.back.Changes} {
		keys = append(keys, slices.Sorted(maps.Keys(c.ByKey))...)
	}
	keys = slices.DeleteFunc(keys, func(k graph.Key) bool { return !tasks.IsState(k) })
	return revert.Remember(r.led, by, r.desired.Network(), len(r.led.Entries()), keys)
}
