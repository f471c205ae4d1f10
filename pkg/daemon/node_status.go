package daemon

import (
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/report"
)

// Observer receives the node's status whenever it changes: a status file, metrics, the Node's
// condition. The daemon calls one observer at a time and waits for it. So Observe must return at
// once: an observer that talks to another process does so in its own goroutine. It may keep its
// arguments, and must not change them.
type Observer interface {
	Observe(now *report.Status, happened []report.Event)
}

// nodeStatus builds the status of the node and gives it to the observers.
type nodeStatus struct {
	observers []Observer
	log       *zap.Logger
	host      host.Options
	interval  time.Duration    // between passes of the daemon
	begun     time.Time        // when the daemon began
	node      string           // the name of the Node; "": not known from the start
	now       report.Status    // only the loop changes it, under mu; observers receive a copy
	state     report.NodeState // by the keys and the store, without the services: see withServices
	reason    string
	counts    map[string]*report.KindStatus // repairs and changes since the daemon began, by kind
	certs     time.Time                     // when the certificates were last read
	// undone is when the undo that was counted last took a change back; at first, when the daemon
	// began.
	undone time.Time

	mu        sync.Mutex
	published *report.Status // the last one that observers received; nil: none
	hung      *hanging       // work that takes too long; nil: there is none
}

// certsEvery is how often the list of certificates is read where passes change nothing.
const certsEvery = 10 * time.Minute

// begin publishes the status of a daemon that starts.
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

// publish gives next to all observers, with the events since the last status.
func (s *nodeStatus) publish(next report.Status, done *report.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = next
	s.notify(done)
}

// notify gives the current status to all observers. The caller holds mu.
func (s *nodeStatus) notify(done *report.Plan) {
	if len(s.observers) == 0 {
		return
	}
	next := s.now
	next.At, next.Up = time.Now(), report.SecondsOf(host.Uptime())
	if w := next.Working; w != nil && w.Proving && calm(next.State) {
		next.State, next.Reason = report.NodeWaiting, "a checkpoint probes a change: what differs meanwhile is repaired after that"
	}
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

// hanging is work that takes longer than passLate.
type hanging struct {
	where func() string
	since time.Time
}

// hangs reports the work that begins now, once it takes longer than passLate, until the caller
// calls end. It reports it in the status and calls say.
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

// working publishes that the daemon changes something.
func (s *nodeStatus) working(what string, plan *report.Plan) {
	next := s.now
	next.Working = &report.Working{Activity: what, Since: time.Now(), Changes: plan.Summary.Changes()}
	s.publish(next, nil)
}

// proving publishes that a checkpoint probes what the daemon changed.
func (s *nodeStatus) proving() {
	if s.now.Working == nil {
		return
	}
	next, w := s.now, *s.now.Working
	w.Proving = true
	next.Working = &w
	s.publish(next, nil)
}

// checked publishes that the store has nothing newer.
func (s *nodeStatus) checked(again time.Time) {
	next := s.now
	next.Configuration.Checked, next.Next = time.Now(), again
	s.publish(next, nil)
}

// services publishes the state of the container runtime and kubelet.
func (s *nodeStatus) services(now []report.Service) {
	next := s.now
	next.Services = now
	next.State, next.Reason = withServices(s.state, s.reason, now)
	s.publish(next, nil)
}
