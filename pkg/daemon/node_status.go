package daemon

import (
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/report"
)

// Observer is told how the node stands whenever there is something new to tell: a status file,
// metrics, the Node's condition. It is called from the daemon's loop, which waits for it: it takes
// note and returns, and whoever talks to somebody else does so in a goroutine of its own. What it
// is given it may keep, and must not change.
type Observer interface {
	Observe(now *report.Status, happened []report.Event)
}

// nodeStatus is how the node stands, as the daemon tells it.
type nodeStatus struct {
	observers []Observer
	log       *zap.Logger
	host      host.Options
	interval  time.Duration // between passes of the daemon
	begun     time.Time     // the daemon
	node      string        // its name, where it is known from the start
	now       report.Status // what was told last; a copy goes out
	published bool
	state     report.NodeState // by the keys and the store alone: see withServices
	reason    string
	counts    map[string]*report.KindStatus // what was repaired and changed since the daemon began, by kind
	certs     time.Time                     // when the certificates were looked at
	// when that change was taken back which was counted last, or the daemon began
	undone time.Time
}

// certsEvery is how old the list of certificates may be in a pass that changes nothing.
const certsEvery = 10 * time.Minute

// begin tells that there is a daemon.
func (s *nodeStatus) begin(d Daemon, at time.Time) {
	s.observers, s.log, s.host, s.interval, s.begun = d.Observers, d.Pass.Log, d.Pass.Host, d.Interval, at
	s.node = d.Select.Node
	s.counts, s.undone = map[string]*report.KindStatus{}, time.Now()
	s.now = report.Status{
		Version: report.StatusVersion, State: report.NodeStarting,
		Agent: report.Agent{Version: d.Version, PID: os.Getpid(), Started: time.Now()},
		Node:  d.Select.Node, NodeGroup: d.Select.Group, Cluster: d.Target.Cluster,
		Configuration: report.Configuration{Store: d.Store.String(), Applied: d.Pass.Session().Applied()},
		Kinds:         []report.KindStatus{}, Keys: []report.KeyStatus{},
	}
	if a := s.now.Configuration.Applied; a != nil {
		s.now.Configuration.Generation, s.now.Configuration.Digest = a.Number, a.Digest
	}
	s.publish(s.now, nil)
}

// publish gives a status to all observers, with what happened since the last one.
func (s *nodeStatus) publish(next report.Status, done *report.Plan) {
	next.At = time.Now()
	var before *report.Status
	if s.published {
		last := s.now
		before = &last
	}
	s.now, s.published = next, true
	if len(s.observers) == 0 {
		return
	}
	events := report.Events(before, &next, done)
	for _, o := range s.observers {
		o.Observe(&next, events)
	}
}

// working tells that the daemon changes something.
func (s *nodeStatus) working(what string, plan *report.Plan) {
	next := s.now
	next.Working = &report.Working{Activity: what, Since: time.Now(), Changes: plan.Summary.Changes()}
	s.publish(next, nil)
}

// checked tells that the store has nothing newer.
func (s *nodeStatus) checked(again time.Time) {
	next := s.now
	next.Configuration.Checked, next.Next = time.Now(), again
	s.publish(next, nil)
}

// services tells how the runtime and kubelet stand.
func (s *nodeStatus) services(now []report.Service) {
	next := s.now
	next.Services = now
	next.State, next.Reason = withServices(s.state, s.reason, now)
	s.publish(next, nil)
}
