package daemon

import (
	"context"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// observed is a pass that tells how it goes on.
func (l *loop) observed(ctx context.Context, pass reconcile.Pass, w trigger) (reconcile.Pass, *phases) {
	clock := newPhases(w.got)
	l.drift.subscribe(&pass)
	built := pass.Hooks.Built
	pass.Hooks.Built = func(d *desired.State, list []tasks.Task, v host.View) {
		l.services.of(v.Facts)
		if l.looks.node = d.Node; d.Pinned != nil {
			l.looks.node = nil
		}
		if built != nil {
			built(d, list, v)
		}
	}
	enter, planned := pass.Hooks.OnPhase, pass.Hooks.OnPlan
	pass.Hooks.OnPhase = func(name string) {
		clock.enter(name)
		l.progress.enter(name)
		if enter != nil {
			enter(name)
		}
	}
	pass.Hooks.OnPlan = func(p *report.Plan) {
		if p.Summary.Changes() > 0 && ctx.Err() == nil {
			l.status.working(w.cause, p)
		}
		if planned != nil {
			planned(p)
		}
	}
	start, done := pass.Hooks.OnStart, pass.Hooks.OnDone
	pass.Hooks.OnStart = func(k graph.Key) {
		l.progress.start(k)
		if start != nil {
			start(k)
		}
	}
	pass.Hooks.OnDone = func(k graph.Key, s graph.State) {
		l.progress.done(k)
		if done != nil {
			done(k, s)
		}
	}
	return pass, clock
}

// seen tells how the services stand, if that is another thing than before.
func (l *loop) seen(list []sighting) {
	now := l.services.take(list, time.Now())
	if slices.Equal(now, l.status.now.Services) {
		return
	}
	for _, one := range now {
		l.health.service(one)
	}
	l.status.services(now)
}
