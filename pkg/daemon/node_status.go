package daemon

import (
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/report"
)

// Observer is told how the node stands whenever there is something new to tell: a status file,
// metrics, the Node's condition. The daemon makes one call at a time and waits for it: it takes
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
	interval  time.Duration    // between passes of the daemon
	begun     time.Time        // the daemon
	node      string           // its name, where it is known from the start
	now       report.Status    // the loop's own, which alone changes it, with mu; a copy goes out
	state     report.NodeState // by the keys and the store alone: see withServices
	reason    string
	counts    map[string]*report.KindStatus // what was repaired and changed since the daemon began, by kind
	certs     time.Time                     // when the certificates were looked at
	// when that change was taken back which was counted last, or the daemon began
	undone time.Time

	mu        sync.Mutex
	published *report.Status // last; nil: nothing was
	hung      *hanging       // nil: nothing hangs
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = next
	s.notify(done)
}

// notify gives the status to all observers as it is. Who calls it holds mu.
func (s *nodeStatus) notify(done *report.Plan) {
	if len(s.observers) == 0 {
		return
	}
	next := s.now
	next.At = time.Now()
	if h := s.hung; h != nil {
		next.Hangs = &report.Hanging{At: h.where(), Since: h.since}
		if next.State != report.NodeCritical {
			next.State, next.Reason = report.NodeFailing, next.Hangs.String()
		}
	}
	events := report.Events(s.published, &next, done)
	s.published = &next
	for _, o := range s.observers {
		o.Observe(&next, events)
	}
}

// hanging is work that takes long.
type hanging struct {
	where func() string
	since time.Time
}

// hangs tells of work that begins now once it takes longer than passLate, until end is called. say
// tells others than the observers.
func (s *nodeStatus) hangs(where func() string, say func(where string)) (end func()) {
	work, over := &hanging{where: where, since: time.Now()}, false
	late := time.AfterFunc(passLate, func() {
		say(where())
		s.mu.Lock()
		defer s.mu.Unlock()
		if over {
			return
		}
		s.hung = work
		s.notify(nil)
	})
	return func() {
		late.Stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		over = true
		if s.hung != nil {
			s.hung = nil
			s.notify(nil)
		}
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
