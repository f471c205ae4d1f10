package daemon

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// beginTelling tells that there is a daemon.
func (l *life) beginTelling() {
	s := &l.standing
	s.observers, s.counts, s.undone = l.Observers, map[string]*report.KindStatus{}, time.Now()
	s.now = report.Status{
		Version: report.StatusVersion, State: report.NodeStarting,
		Agent: report.Agent{Version: l.Version, PID: os.Getpid(), Started: time.Now()},
		Node:  l.Select.Node, NodeGroup: l.Select.Group, Cluster: l.Target.Cluster,
		Configuration: report.Configuration{Store: l.Store.String(), Applied: l.Pass.Session().Applied()},
		Kinds:         []report.KindStatus{}, Keys: []report.KeyStatus{},
	}
	if a := s.now.Configuration.Applied; a != nil {
		s.now.Configuration.Generation, s.now.Configuration.Digest = a.Number, a.Digest
	}
	s.tell(s.now, nil)
}

// observed is a pass that tells how it goes on.
func (l *life) observed(ctx context.Context, pass reconcile.Pass, w wake) (reconcile.Pass, *phases) {
	clock := newPhases(w.got)
	l.drift.hear(&pass)
	built := pass.Hooks.Built
	pass.Hooks.Built = func(d *desired.State, list []tasks.Task, v host.View) {
		l.services.of(v.Facts)
		if l.looks.node = d.Node; d.Held != nil {
			l.looks.node = nil
		}
		if built != nil {
			built(d, list, v)
		}
	}
	enter, planned := pass.Hooks.OnPhase, pass.Hooks.OnPlan
	pass.Hooks.OnPhase = func(name string) {
		clock.enter(name)
		if enter != nil {
			enter(name)
		}
	}
	pass.Hooks.OnPlan = func(p *report.Plan) {
		if p.Summary.Changes() > 0 && ctx.Err() == nil {
			l.standing.working(w.cause, p)
		}
		if planned != nil {
			planned(p)
		}
	}
	return pass, clock
}

// seen tells how the services stand, if that is another thing than before.
func (l *life) seen(list []sighting) {
	s := &l.standing
	next := s.now
	next.Services = l.services.take(list, time.Now())
	if slices.Equal(next.Services, s.now.Services) {
		return
	}
	for _, one := range next.Services {
		l.health.service(one)
	}
	next.State, next.Reason = withServices(s.state, s.reason, next.Services)
	s.tell(next, nil)
}
