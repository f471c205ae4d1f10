// Package execute plans a graph of tasks on a view and applies the plan. Each task is planned again
// just before it is applied, and once more after that. A pass, a reset and an installation use it.
package execute

import (
	"context"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/drift"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/tasks"
)

// Plan asks each task what it would change, upstream first, each on the host as the tasks before it
// will leave it. owed has the effects that an earlier run left pending. refused has the tasks whose
// change is not made, with the reason. judge judges the changes, and may be nil. gone is what this
// run removes at its end.
func Plan(
	ctx context.Context, g *tasks.Graph, view host.View, owed map[string][]string,
	refused map[graph.Key]error, judge *drift.Judge, gone ...host.Fact,
) changes.Work {
	pending := host.NewPending(owed)
	pending.Add(gone...)
	over := pending.Over(view)
	out := changes.NewSet()
	out.Repairs = judge.Repairs()
	rep := graph.Run(ctx, g, graph.RunOptions{Deadline: planDeadline}, func(ctx context.Context, t tasks.Task) error {
		c, err := changes.PlanTask(ctx, t, over)
		if err != nil || c == nil {
			return err
		}
		key := t.Owns()[0]
		if l := judge.Decide(ctx, t, c); l != nil {
			return l.End()
		}
		if why := refused[key]; why != nil && c.NotApplicable == "" {
			return why
		}
		if err := fetch.Late(ctx, view, t); err != nil {
			return err
		}
		judge.Spare(ctx, t, c)
		out.Put(key, c)
		if c.NotApplicable != "" {
			return nil
		}
		pending.Add(c.Pending...)
		for _, effect := range c.Effects {
			pending.Ask(string(effect), string(key))
		}
		return nil
	})
	return changes.Work{Graph: g, Changes: out, Rep: rep}
}
