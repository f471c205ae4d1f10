package starts

import (
	"context"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/tasks"
)

// An effect only enqueues a reload. It does not wait for it, because the unit may be ordered after
// the agent. A unit whose reload failed runs on with its old settings, and systemd calls it active.

// Acting has the results of the effects that reloaded or restarted units.
type Acting []*tasks.Result

// Acts returns the results of the effects that reloaded or restarted a unit in a run.
func Acts(done changes.Work) (list Acting) {
	for i := range done.Rep.Results {
		res := &done.Rep.Results[i]
		if e, is := res.Node.(tasks.Effect); !is || e.Unit == "" || res.State != graph.Done {
			continue
		}
		if c := done.Changes.Get(res.Key); c != nil && c.NotApplicable == "" {
			list = append(list, res)
		}
	}
	return list
}

// unitOf returns the unit of an effect.
func unitOf(res *tasks.Result) string { return res.Node.(tasks.Effect).Unit }

// acts reports whether a unit has not finished its reload or restart yet.
func (b bide) acts(ctx context.Context, h *host.Host, unit string) bool {
	u, err := h.Live.Units.Unit(ctx, unit)
	return err == nil && (u.Active == "reloading" || u.Job && b.behind)
}

// Unread returns the error of a network unit that failed to reload. Such a unit has not read its
// new files, so the probes have not shown how the node works with a change that takes effect later.
func (list Acting) Unread(ctx context.Context, h *host.Host) error {
	for _, res := range list {
		if err := failedReload(ctx, h, res); err != nil && tasks.NetworkUnit(unitOf(res)) {
			return err
		}
	}
	return nil
}

// reloadLimit is how long a pass waits for reloads after the checkpoint, which may have waited for
// them already.
const reloadLimit = 5 * time.Second

// AwaitReloads waits for the reloads, and writes into the report which of them failed. It returns
// the keys of those.
func (w Waiting) AwaitReloads(ctx context.Context, h *host.Host, list Acting) (failed []graph.Key) {
	if len(list) == 0 {
		return nil
	}
	how, deadline := w.bide(ctx, h), time.Now().Add(reloadLimit)
	for _, res := range list {
		if res.Node.(tasks.Effect).Action != tasks.ActionReload {
			continue // a restarted unit is on trial
		}
		for how.acts(ctx, h, unitOf(res)) && time.Now().Before(deadline) && host.Sleep(ctx, 50*time.Millisecond) {
		}
		if err := failedReload(ctx, h, res); err != nil {
			res.State, res.Err = graph.Failed, err
			failed = append(failed, res.Key)
		}
	}
	return failed
}

// failedReload returns the error of a unit whose last reload failed. systemd forgets a failed
// reload when it starts the unit again.
func failedReload(ctx context.Context, h *host.Host, res *tasks.Result) error {
	unit := unitOf(res)
	if now, err := h.Live.Units.Unit(ctx, unit); err != nil || now.Active != "active" {
		return nil
	}
	how := h.Live.Units.FailedReload(ctx, unit)
	if how == "" {
		return nil
	}
	return graph.Permanent(&StartError{Unit: unit,
		Why: fmt.Sprintf("its reload failed (%s), and it still runs with its former settings", how)})
}
