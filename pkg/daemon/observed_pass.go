package daemon

import (
	"context"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// observed adds hooks to a pass that report its progress, also to the client that asked for it.
func (l *loop) observed(ctx context.Context, pass reconcile.Pass, w trigger) (reconcile.Pass, *phases) {
	clock := newPhases(w.got)
	l.drift.subscribe(&pass)
	tell := func(control.Event) {}
	if job := w.job; job != nil {
		tell = job.Send
		pass.AllowDisruptive = pass.AllowDisruptive || job.AllowDisruptive
	}
	hooks := &pass.Hooks
	hooks.Built = func(d *desired.State, list []tasks.Task, v host.View) {
		l.drift.watch(list, v.Facts)
		l.services.of(v.Facts)
		if l.looks.node = d.Node; d.Pinned != nil {
			l.looks.node = nil
		}
	}
	hooks.OnWait = func(who string) { tell(control.Event{Event: control.Queued, Text: who}) }
	enter, planned := hooks.OnPhase, hooks.OnPlan
	hooks.OnPhase = func(name string) {
		clock.enter(name)
		l.progress.enter(name)
		if name == session.Prove {
			l.status.proving()
		}
		if enter != nil {
			enter(name)
		}
	}
	hooks.OnPlan = func(p *report.Plan) {
		if p.Summary.Changes() > 0 && ctx.Err() == nil {
			l.status.working(w.cause, p)
		}
		tell(control.Event{Event: control.Plan, Plan: p})
		if planned != nil {
			planned(p)
		}
	}
	hooks.OnStart = func(k graph.Key) {
		l.progress.start(k)
		tell(control.Event{Event: control.Start, Key: string(k)})
	}
	hooks.OnDone = func(k graph.Key, _ graph.State) {
		l.progress.done(k)
		tell(control.Event{Event: control.Done, Key: string(k)})
	}
	hooks.OnRetry = func(k graph.Key, why error, pause time.Duration) {
		tell(control.Event{Event: control.Retry, Key: string(k), Text: changes.Cause(why).Error(), Pause: pause})
	}
	return pass, clock
}

// seen publishes the state of the services, if it changed. again says that the runtime was started
// again.
func (l *loop) seen(list []sighting) (again bool) {
	now, again := l.services.take(list, time.Now())
	if slices.Equal(now, l.status.now.Services) {
		return again
	}
	for _, one := range now {
		l.health.service(one)
	}
	l.status.services(now)
	return again
}
