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

// A reload is queued and not waited for by its effect: the unit may be ordered after the agent. A
// unit whose reload failed runs on with the settings that it had, and systemd calls it active.

// Acting are the units that a run had reloaded or restarted.
type Acting []*tasks.Result

// Acts are those of a run.
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

// unitOf is the unit of an effect.
func unitOf(res *tasks.Result) string { return res.Node.(tasks.Effect).Unit }

// acts says that a unit has not done its reload or restart yet.
func (b bide) acts(ctx context.Context, h *host.Host, unit string) bool {
	u, err := h.Live.Units.Unit(ctx, unit)
	return err == nil && (u.Active == "reloading" || u.Job && b.behind)
}

// Unread is the error of a unit of the node's network that has not read its files: nobody has seen
// what the node is like with a change that it will act on later.
func (list Acting) Unread(ctx context.Context, h *host.Host) error {
	for _, res := range list {
		if err := failedReload(ctx, h, res); err != nil && tasks.NetworkUnit(unitOf(res)) {
			return err
		}
	}
	return nil
}

// reloadLimit is how long a pass waits for reloads that no checkpoint has waited for.
const reloadLimit = 5 * time.Second

// AwaitReloads looks at the reloads, and puts into the report which of them failed. It returns
// those.
func (w Waiting) AwaitReloads(ctx context.Context, h *host.Host, list Acting) (failed []graph.Key) {
	if len(list) == 0 {
		return nil
	}
	how, deadline := w.bide(ctx, h), time.Now().Add(reloadLimit)
	for _, res := range list {
		if res.Node.(tasks.Effect).Action != tasks.ActionReload {
			continue // who ran from other files is on trial
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

// failedReload is the error of a unit that did not take its last reload. systemd forgets that one
// when it starts the unit anew.
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
		Why: fmt.Sprintf("its reload failed (%s), and it runs with the settings that it had", how)})
}
