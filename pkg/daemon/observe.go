package daemon

import (
	"context"
	"os"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Observer is told how the node stands whenever there is something new to tell: a status file,
// metrics, the Node's condition. It is called from the daemon's loop, which waits for it: it takes
// note and returns, and whoever talks to somebody else does so in a goroutine of its own. What it
// is given it may keep, and must not change.
type Observer interface {
	Observe(now *report.Status, happened []report.Event)
}

// standing is how the node stands, as the daemon tells it.
type standing struct {
	observers []Observer
	now       report.Status // what was told last; a copy goes out
	told      bool
	state     report.NodeState // by the keys and the store alone: see withServices
	reason    string
	counts    map[string]*report.KindStatus // what was repaired and changed since the daemon began, by kind
	certs     time.Time                     // when the certificates were looked at
	undone    time.Time                     // when that change was taken back which was counted last, or the daemon began
}

// certsEvery is how old the list of certificates may be in a pass that changes nothing.
const certsEvery = 10 * time.Minute

// beginTelling tells that there is a daemon.
func (l *life) beginTelling() {
	s := &l.standing
	s.observers, s.counts, s.undone = l.Observers, map[string]*report.KindStatus{}, time.Now()
	s.now = report.Status{
		Version: report.StatusVersion, State: report.NodeStarting, Agent: report.Agent{Version: l.Version, PID: os.Getpid(), Started: time.Now()},
		Node: l.Select.Node, NodeGroup: l.Select.Group, Cluster: l.Target.Cluster, Configuration: report.Configuration{Store: l.Store.String(), Applied: l.Pass.Applied()},
		Kinds: []report.KindStatus{}, Keys: []report.KeyStatus{},
	}
	if a := s.now.Configuration.Applied; a != nil {
		s.now.Configuration.Generation, s.now.Configuration.Digest = a.Number, a.Digest
	}
	s.tell(s.now, nil)
}

// tell gives a status to all observers, with what happened since the last one.
func (s *standing) tell(next report.Status, done *report.Plan) {
	next.At = time.Now()
	var before *report.Status
	if s.told {
		last := s.now
		before = &last
	}
	s.now, s.told = next, true
	if len(s.observers) == 0 {
		return
	}
	events := report.Events(before, &next, done)
	for _, o := range s.observers {
		o.Observe(&next, events)
	}
}

// working tells that the daemon changes something.
func (s *standing) working(what string, plan *report.Plan) {
	next := s.now
	next.Working = &report.Working{What: what, Since: time.Now(), Changes: plan.Summary.Changes()}
	s.tell(next, nil)
}

// observed is a pass that tells how it goes on.
func (l *life) observed(ctx context.Context, pass reconcile.Pass, w wake) (reconcile.Pass, *phases) {
	clock := newPhases(w.got)
	l.drift.hear(&pass)
	built := pass.Hooks.Built
	pass.Hooks.Built = func(d *desired.State, list []tasks.Task, v host.View) {
		l.services.of(v.Facts())
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
