package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// guard keeps a pass from cutting the node off. A nil guard is that of a pass of which every change
// is proved: it costs nothing and does nothing.
type guard struct {
	point *checkpoint.Checkpoint
	all   bool                    // also of changes that are proved harmless
	end   context.CancelCauseFunc // of the run
	begun func()                  // hears that it is armed, before the first change; nil: nobody does

	once  sync.Once
	armed bool
	err   error // why it could not be armed
	limit *time.Timer
}

// errTooLong ends a run that may have cut the node off and does not come to its end.
var errTooLong = errors.New("the change did not come to its end in time")

// guard looks whether any change is not proved harmless, nor proved before. If so it keeps in mind
// how everything is that the pass changes, and returns the context of the run.
func (p Pass) guard(ctx context.Context, h *host.Host, r *run) (*guard, context.Context, error) {
	if p.ConfirmWithin == 0 && !slices.ContainsFunc(slices.Collect(maps.Values(r.changes.ByKey)), unproved) && !slices.ContainsFunc(slices.Collect(maps.Values(r.removals.ByKey)), unproved) {
		return nil, ctx, nil
	}
	if err := p.mayAwait(h); err != nil {
		return nil, ctx, err
	}
	before, err := r.remember(p.by())
	if err != nil {
		return nil, ctx, err
	}
	links, err := netdevs(ctx, h, r)
	if err != nil {
		return nil, ctx, err
	}
	trees, err := below(h, r)
	if err != nil {
		return nil, ctx, err
	}
	change := checkpoint.Change{Generation: r.desired.Snapshot.Generation, Digest: r.desired.Snapshot.Digest, Memory: before, Tasks: map[graph.Key]tasks.Task{},
		Watch: time.Duration(r.desired.Node.Update.Watch)}
	undoable(&change, r.graph, r.changes)
	undoable(&change, r.pruning.Graph, r.removals)
	change.Keys = slices.Concat(change.Keys, links, trees)
	if change.AtBoot, err = r.atBoot(); err != nil {
		return nil, ctx, err
	}
	change.OwnPods = !r.sw.Begins() && r.judged(h.Facts())
	change.Reboot, change.Right, change.Pods = mayReboot(r.desired.Node), r.led.Head().Boot, desired.PodRanges(r.desired.Node)
	return p.take(ctx, h, r, change)
}

// take takes a checkpoint, where there is something to be cut off from.
func (p Pass) take(ctx context.Context, h *host.Host, r *run, change checkpoint.Change) (*guard, context.Context, error) {
	if !p.live() {
		return nil, ctx, nil
	}
	settings := p.Checkpoint
	settings.Log, settings.Record, settings.KeepsCopy = p.Log, recorder(r.led), p.Ready
	if settings.Inbound == nil {
		settings.Inbound = p.inbound(r)
	}
	point, err := checkpoint.Take(ctx, h, change, settings)
	if err != nil {
		return nil, ctx, err
	}
	r.custody.Around = checkpoint.Around
	g := &guard{point: point, all: p.ConfirmWithin > 0}
	ctx, g.end = context.WithCancelCause(ctx)
	return g, ctx, nil
}

// live says that the pass works on the running host, and not on an image or in a sandbox.
func (p Pass) live() bool { return !p.Host.Sandbox && (p.Host.Root == "" || p.Host.Root == "/") }

// unproved says that a change is made under a checkpoint only.
func unproved(c *tasks.Change) bool { return c.NotHere == "" && c.Proof == tasks.Unproved }

// undoable adds the keys that change and that an undo brings back.
func undoable(to *checkpoint.Change, g *graph.Graph[tasks.Task], c *changes.Set) {
	for _, key := range slices.Sorted(maps.Keys(c.ByKey)) {
		t, _ := g.Find(key)
		if !undone(t, c.ByKey[key]) {
			continue
		}
		for _, it := range c.ByKey[key].Items {
			to.Keys = append(to.Keys, it.Key)
			to.Tasks[it.Key] = t
		}
	}
}

// judged says that pods of the agent's own can judge the network: that they are added by a conf,
// and are to it as pods of the API's are.
func (r *run) judged(f *host.Facts) bool {
	net, known := network.Of(r.desired.Node)
	byConf := func(t tasks.Task) bool {
		conf, is := t.(tasks.WaitConf)
		return is && conf.Network == net.Name
	}
	return known && model.Unjudged(net, r.desired.Node, f) == nil && slices.ContainsFunc(r.graph.Order(), byConf)
}

// netdevs are the links that systemd-networkd will make by files of the change. It does not remove
// what such a file made when the file goes: the undo does.
func netdevs(ctx context.Context, v host.View, r *run) (keys []graph.Key, err error) {
	for key := range r.changes.ByKey {
		t, _ := r.graph.Find(key)
		f, ok := t.(interface{ Netdev() (string, error) })
		if !ok {
			continue
		}
		name, err := f.Netdev()
		if err != nil {
			return nil, err
		}
		if _, err := v.Link(ctx, name); name != "" && errors.Is(err, host.ErrNotExist) {
			keys = append(keys, tasks.LinkKey(name))
		}
	}
	return keys, nil
}

// Before arms the checkpoint before the first change that needs it: not
// earlier, since a download may take longer than a checkpoint lasts.
func (g *guard) Before(ctx context.Context, t tasks.Task, c *tasks.Change) error {
	if g == nil || !unproved(c) && !(g.all && undone(t, c)) {
		return nil
	}
	g.once.Do(func() {
		if g.err = g.point.Arm(ctx); g.err == nil {
			g.armed = true
			if g.begun != nil {
				g.begun()
			}
			g.limit = time.AfterFunc(g.point.Limit(), func() { g.end(errTooLong) })
		}
	})
	return g.err
}

// waitFor has the change settled only when nothing starts any more: see
// [checkpoint.Checkpoint.WaitFor].
func (g *guard) waitFor(starting func(context.Context) bool) {
	if g != nil {
		g.point.WaitFor(starting)
	}
}

// settle keeps the change or undoes it. ctx is that of the run; unfinished says that what was begun
// is of no use as it is.
func (g *guard) settle(ctx context.Context, unfinished error) error {
	if g == nil {
		return nil
	}
	defer g.end(errors.New("the run is over"))
	if !g.armed {
		return g.point.Drop(context.WithoutCancel(ctx))
	}
	g.limit.Stop()
	late := unfinished
	if cause := context.Cause(ctx); errors.Is(cause, errTooLong) {
		late = cause
	}
	return g.point.Settle(ctx, late)
}

// proof is what a change was proved by that stayed, nil where no checkpoint was armed.
func (g *guard) proof() *checkpoint.Proof {
	if g == nil || !g.armed {
		return nil
	}
	return g.point.Proof()
}

// warnings are what is amiss with a change that stayed.
func (g *guard) warnings() (notes []report.Note) {
	if g == nil {
		return nil
	}
	for _, text := range g.point.Warnings() {
		notes = append(notes, report.Note{Level: "warning", Text: text})
	}
	return notes
}

// heldBack says why the documents are not applied now, nil if they are.
func (p Pass) heldBack(r checkpoint.Reader, d *desired.State) error {
	if why := p.verdict(r, d); why != nil {
		return why
	}
	return nil
}

// refuseUnproved refuses what is not proved, where what holds the generation back came with it
// later: by a fact, or a hook that ran anew. The rest of what is in force is kept right. It is
// false where there is no rest, and of a generation that the node never took: half of one is no
// configuration.
func (r *run) refuseUnproved(h *host.Host, why error) (rest bool) {
	if good, err := ledger.ReadLastGood(h); err != nil || good == nil || good.Digest != r.desired.Snapshot.Digest {
		return false
	}
	for _, c := range []*changes.Set{r.changes, r.removals} {
		for key, change := range c.ByKey {
			switch {
			case unproved(change):
				r.refused[key] = why
				delete(c.ByKey, key)
			case change.NotHere == "":
				rest = true
			}
		}
	}
	return rest
}

// verdict holds a generation back. Of one that nobody confirmed nothing is known to be wrong: who
// asks for it has it.
func (p Pass) verdict(r checkpoint.Reader, d *desired.State) *checkpoint.HeldError {
	why := checkpoint.Held(r, d.Snapshot.Digest, time.Now())
	if why != nil && why.Unconfirmed && p.TakeNow != "" {
		return nil
	}
	return why
}

// notApplied is a plan of which nothing was done, or nothing is left.
func notApplied(p *report.Plan, why error) *report.Plan {
	for i := range p.Steps {
		if s := &p.Steps[i]; s.State == report.Planned {
			s.State, s.Message = report.Stopped, "not applied: see the note"
		}
	}
	p.Notes = append(p.Notes, report.Note{Level: "warning", Text: why.Error()})
	total := p.Summary.Tasks
	p.Summary = report.Summary{}
	p.Finish(total)
	return p
}

// Undo takes back a change that was not confirmed; without one it does
// nothing. The timer and the boot call it, in a process of its own. With watches it
// watches a change that was good, and takes it back should it still cost the node its network.
func (p Pass) Undo(ctx context.Context, watches bool) error {
	opt := p.Host
	opt.Log = p.Log
	h, err := host.Open(ctx, opt)
	if err != nil {
		return fmt.Errorf("look at the host: %w", err)
	}
	defer h.Close() // every write was synced and checked where it was made
	settings := p.Checkpoint
	settings.Log, settings.Record = p.Log, recorder(nil)
	settings.Lock = func(ctx context.Context) (func(), error) {
		unlock, err := ipc.Lock(ctx, p.Host.Files(), ledger.LockFile, nil)
		if err == nil {
			RecoverFirst(ctx, p.Log, h.Recover)
		}
		return unlock, err
	}
	if watches {
		return checkpoint.Watch(ctx, h, settings)
	}
	_, err = checkpoint.Undo(ctx, h, settings)
	return err
}

// CheckUndo says whether Undo could read what it would take back. It changes nothing, and takes no
// lock.
func (p Pass) CheckUndo() error {
	files, err := host.OpenFiles(p.Host)
	if err != nil {
		return fmt.Errorf("open %s: %w", p.Host.Root, err)
	}
	defer files.Close() // only read from
	return checkpoint.Check(files)
}

// undoDue is what a dry run says of a change that was not confirmed. One that cannot be taken back
// holds up every pass: it is an error here too.
func (p Pass) undoDue(r checkpoint.Reader) ([]report.Note, error) {
	due := checkpoint.Pending
	if !p.live() { // see finishUndo
		due = checkpoint.Unconfirmed
	}
	j, err := due(r)
	if j == nil || err != nil {
		return nil, err
	}
	if a := history.Awaits(r); a != nil {
		return []report.Note{{Level: "warning", Text: a.String() + ": nothing is changed before"}}, nil
	}
	return []report.Note{{Level: "warning", Text: fmt.Sprintf("a change of generation %d was not confirmed: the next pass takes it back before anything else, or its own process confirms it", j.Generation)}}, nil
}

// finishUndo undoes what a run left that ended in the middle of its checkpoint: at once, and not
// only when the timer says so. A change that may still be confirmed stays, and is the error:
// nothing else is changed meanwhile. The caller has the lock.
func (p Pass) finishUndo(ctx context.Context, h *host.Host, led *ledger.Ledger) error {
	settings := p.Checkpoint
	settings.Log, settings.Record = p.Log, recorder(led)
	undo := checkpoint.UndoDue
	if !p.live() {
		undo = func(context.Context, *host.Host, checkpoint.Settings) (*checkpoint.Journal, error) {
			return checkpoint.Unconfirmed(h)
		}
	}
	j, err := undo(ctx, h, settings)
	if err != nil || j == nil || p.confirms {
		return err
	}
	return &AwaitsError{*history.AwaitsOf(j)}
}
