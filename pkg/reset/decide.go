package reset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/tasks"
)

// entry is one entry of the ledger, and what the host has of it.
type entry struct {
	ledger.Entry
	state   tasks.StateReader
	live    string
	remover tasks.Remover // nil: the agent cannot remove it
	changed bool          // somebody changed it since the agent wrote it
}

// decide decides what to do with one entry: it adds to gone or back, or the entry stays.
func (r *resetting) decide(
	ctx context.Context, v host.View, of ledger.Entry, gone *[]tasks.Removal, back *[]tasks.Restoration,
) error {
	e, err := r.read(ctx, v, of)
	if e == nil || err != nil {
		return err
	}
	// the file of a TOML key has an mtime to restore
	if e.Mode != ledger.Found && e.remover != nil && (e.Baseline == nil || e.Key.Kind() != tasks.KindTOML) {
		return r.decideRemoval(ctx, v, e, gone)
	}
	return r.decideRestoration(ctx, v, e, back)
}

// read reads what the host has of an entry. It returns nil where there is nothing to decide.
func (r *resetting) read(ctx context.Context, v host.View, of ledger.Entry) (*entry, error) {
	t, err := of.Rebuild(v.Files)
	if err != nil {
		r.stays(of.Key, err.Error())
		return nil, nil
	}
	e := &entry{Entry: of, state: tasks.StateReaderOf(t, of.Key)}
	if e.state == nil {
		return nil, nil
	}
	e.live, err = e.state.Live(ctx, v)
	if errors.Is(err, host.ErrNoLiveState) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", e.Key, err)
	}
	e.remover, _ = e.state.(tasks.Remover)
	if m, ok := t.(tasks.Mount); ok && e.Key.Kind() == tasks.KindMount {
		if e.remover = nil; e.Mode == ledger.Owned {
			e.remover = m.Unmounter()
		}
	}
	e.changed = r.ownership.Altered(ctx, v, of, e.live)
	return e, nil
}

func (r *resetting) stays(key graph.Key, why string) {
	r.note("warning", fmt.Sprintf("%s stays: %s", key, why))
}

// decideRemoval decides about what the agent made and can remove.
func (r *resetting) decideRemoval(ctx context.Context, v host.View, e *entry, gone *[]tasks.Removal) error {
	holds, err := ownership.UsedBy(ctx, v, r.led, e.state)
	if err != nil {
		return fmt.Errorf("read %s: %w", e.Key, err)
	}
	switch policy := r.ownership.Changed; {
	case e.live == "":
	case policy != "" && ownership.Unmanaged(e.Entry, e.state, e.live):
		r.stays(e.Key, ownership.NotOurs)
	case policy == "" && e.changed:
		r.stays(e.Key, "somebody changed it since netwright wrote it; remove it by hand if it is not needed, or reset "+
			"with --changed=remove")
	case holds != "":
		r.stays(e.Key, holds)
	default:
		meta := ownership.MetaOf(e.Entry)
		*gone = append(*gone, tasks.Removal{
			Meta: meta, Key: e.Key, Remover: e.remover, Last: e.live, Reason: "netwright made it", Pods: podsNeed(e.Entry),
			Changed: policy.Reason(e.changed), Disruption: tasks.RevertCosts(e.Key, "", meta.Effects),
		})
	}
	return nil
}

// decideRestoration decides about what was there before the agent, or cannot be removed.
func (r *resetting) decideRestoration(ctx context.Context, v host.View, e *entry, back *[]tasks.Restoration) error {
	restored, served, err := r.before(ctx, v, e.Entry, e.state)
	if err != nil {
		return fmt.Errorf("check whether %s is as it was: %w", e.Key, err)
	}
	switch {
	case e.Key.Kind() == tasks.KindModule:
		if e.Mode != ledger.Found {
			r.note("info", fmt.Sprintf("%s stays loaded until the next boot", e.Key))
		}
	case e.Baseline == nil && e.remover != nil && e.live != "":
		r.stays(e.Key, "it was there before netwright, as far as the ledger knows")
	case e.Baseline == nil && e.live != "" && r.led.Head().Lost:
		r.stays(e.Key, "the ledger was lost once, and with it the baselines")
	case restored, e.Key.Kind() == tasks.KindSysctl && e.Baseline.Live == "":
	case ownership.IsConf(v, e.Key):
		r.stays(e.Key, "its baseline may no longer fit the pods; its former content is not restored")
	case e.changed && r.ownership.Changed == "":
		r.stays(e.Key, "somebody changed it since netwright did; reset with --changed=remove restores its baseline")
	case e.Baseline.Lost != "":
		r.stays(e.Key, e.Baseline.Lost)
	case served != "":
		r.stays(e.Key, served)
	default:
		task, err := ownership.RestorationOf(v.Files, e.Entry, e.state.(tasks.Restorer))
		if err != nil {
			r.stays(e.Key, err.Error())
			return nil
		}
		task.Pods = podsNeed(e.Entry)
		*back = append(*back, task)
	}
	return nil
}

// podsNeed reports whether pods need a key to send packets, or a runtime needs it to remove pods. A
// runtime that is not installed now may come back, as when its package is replaced.
func podsNeed(e ledger.Entry) bool {
	return tasks.Shared(e.Key) || slices.ContainsFunc([]string{"containerd", "cri-o"}, func(name string) bool {
		return slices.Contains(e.Effects, tasks.Restart(facts.RuntimeUnit(name)))
	})
}
