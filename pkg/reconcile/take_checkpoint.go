package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/policy"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/guard"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/reconcile/rollout"
	"github.com/netwright/netwright/pkg/tasks"
)

// prepare records the changes of the pass in the ledger, before the first of them. If one of them
// is neither harmless nor a return to a proved state, it captures the state of all that the pass
// changes, for an undo. It returns the guard, the context of the run, and the plan without the
// tasks whose state could not be read.
func (p Pass) prepare(
	ctx context.Context, h *host.Host, r *plan,
) (*guard.Guard, context.Context, *plan, error) {
	change, err := undoable(ctx, p, h, r)
	if err != nil {
		return nil, ctx, r, err
	}
	if change == nil || !p.Host.Running() { // the host is not running, so nothing can be cut off
		r, err = r.write(ctx, p, h)
		return nil, ctx, r, err
	}
	r.ownership.TimesBefore = ownership.TimesBefore(h.Live.Files, checkpoint.Around)
	taker := guard.Taker{Running: true, Settings: p.Checkpoint, Log: p.Log, API: p.API,
		Node: r.desired.Node.Name, CachesCopy: p.Ready, All: p.ConfirmWithin > 0}
	// A switch, and a change that awaits a confirmation, is recorded only if it can be undone.
	if r.sw.Begins() || p.ConfirmWithin > 0 {
		g, ctx, err := taker.Take(ctx, h, r.led, *change)
		if err == nil {
			r, err = r.write(ctx, p, h)
		}
		return g, ctx, r, err
	}
	written, writing := r, make(chan error, 1)
	go func() {
		var err error
		written, err = r.write(ctx, p, h)
		writing <- err
	}()
	g, guarded, err := taker.Take(ctx, h, r.led, *change)
	err = errors.Join(err, <-writing)
	return g, guarded, written, err
}

// undoable returns the part of the pass that an undo takes back, or nil if no change needs an undo.
func undoable(ctx context.Context, p Pass, h *host.Host, r *plan) (*checkpoint.Change, error) {
	made, gone := guard.PlannedWork(r.wanted), guard.PlannedWork(r.unwanted)
	if p.ConfirmWithin == 0 && !made.NeedsCheckpoint() && !gone.NeedsCheckpoint() {
		return nil, nil
	}
	if err := mayAwait(p.ConfirmWithin, h); err != nil {
		return nil, err
	}
	before, err := guard.Remember(r.ownership, r.wanted.Changes, p.Session().Maker(), r.desired.Network())
	if err != nil {
		return nil, err
	}
	links, err := made.Netdevs(ctx, h.Live.View())
	if err != nil {
		return nil, err
	}
	trees, err := made.Below(h.Live.View())
	if err != nil {
		return nil, err
	}
	change := &checkpoint.Change{Generation: r.desired.Snapshot.Generation, Digest: r.desired.Snapshot.Digest,
		Before: before, Tasks: map[graph.Key]tasks.Task{},
		Watch: time.Duration(r.desired.Node.Update.Watch)}
	made.Undoable(change)
	gone.Undoable(change)
	change.Keys = slices.Concat(change.Keys, links, trees)
	if change.AtBoot, err = guard.AtBoot(r.led, made, gone); err != nil {
		return nil, err
	}
	change.OwnPods = !r.sw.Begins() && r.judged(h.Live.Facts)
	change.Reboot, change.Right, change.Pods = mayReboot(r.desired.Node), r.led.Head().Boot,
		desired.PodRanges(r.desired.Node)
	if c := r.desired.Node.Networking.Custom; c != nil {
		change.OwnLinks = c.SharedHost.Links
	}
	return change, nil
}

// judged reports whether the agent's own pods can test the network: a conf must add them to it, and
// the network must treat them as pods of the API.
func (r *plan) judged(f *host.Facts) bool {
	net, known := network.Of(r.desired.Node)
	byConf := func(t tasks.Task) bool {
		conf, is := t.(tasks.WaitConf)
		return is && conf.Network == net.Name
	}
	return known && model.Untestable(net, r.desired.Node, f) == nil && slices.ContainsFunc(r.graph.Order(), byConf)
}

// suppressed returns why the documents are not applied now, or nil if they are.
func suppressed(by rollout.Rollout, r host.FileReader, d *desired.State) error {
	if why := by.Verdict(r, d); why != nil {
		return why
	}
	return nil
}

// withoutUnsafe returns the plan without the changes that need a checkpoint. It is for a generation
// in force to which a fact, or a hook that ran anew, later added the change that is held back. The
// rest of the configuration in force is kept right. It returns nil if there is no rest, or if the
// node never took the generation: one half of a configuration is not applied.
func (r *plan) withoutUnsafe(h *host.Host, why error) *plan {
	if good, err := ledger.ReadLastGood(h.Live.Files); err != nil || good == nil ||
		good.Digest != r.desired.Snapshot.Digest {
		return nil
	}
	rest, refused := false, map[graph.Key]error{}
	for _, c := range []*changes.Set{r.wanted.Changes, r.unwanted.Changes} {
		for key, change := range c.ByKey {
			switch {
			case guard.NeedsCheckpoint(change):
				refused[key] = why
			case change.NotApplicable == "":
				rest = true
			}
		}
	}
	if !rest {
		return nil
	}
	return r.refusing(refused)
}

// mayReboot reports whether the documents allow a reboot after a boot that failed.
func mayReboot(n *config.Node) bool { return n.Update.BootUndo == policy.BootUndoReboot }
