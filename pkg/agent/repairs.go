package agent

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
)

// repairs are the changes of a pass that bring back what somebody changed, and those of them that
// are not made now, by the first keys of their tasks. Nil: there are none.
type repairs struct {
	mu       sync.Mutex
	made     map[graph.Key]*ledger.Drift // what the ledger says of it once it is repaired
	deferred map[graph.Key]*deferral     // what is not repaired now
	fought   map[graph.Key]*deferral     // what is repaired, and contested all the same, for pods stand on it
}

func newRepairs() *repairs {
	return &repairs{made: map[graph.Key]*ledger.Drift{}, deferred: map[graph.Key]*deferral{}, fought: map[graph.Key]*deferral{}}
}

// put notes that the change of a task is a repair. fought says why it is contested all the same;
// nil: it is not.
func (r *repairs) put(key graph.Key, note *ledger.Drift, fought *deferral) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made[key] = note
	if fought != nil {
		r.fought[key] = fought
	}
}

// postpone notes that a repair is not made now.
func (r *repairs) postpone(key graph.Key, l *deferral) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deferred[key] = l
	delete(r.fought, key)
}

// note is what the ledger says of a key once it is repaired; nil: its change is no repair.
func (r *repairs) note(key graph.Key) *ledger.Drift {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.made[key]
}

// keys are those that are repaired.
func (r *repairs) keys() []graph.Key {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.made))
}

// later says that the change of a task is not made, and why; nil: it is.
func (r *repairs) later(key graph.Key) *deferral {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deferred[key]
}

// contested says that the repair of a task did not end the quarrel about it; nil: there is none.
func (r *repairs) contested(key graph.Key) *deferral {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fought[key]
}

// over notes that a key which was to be left is right.
func (r *repairs) over(key graph.Key) {
	if r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.deferred, key)
	}
}

// lookAgain is when the first of what is deferred is repaired after all; zero: nothing is.
func (r *repairs) lookAgain() (at time.Time) {
	if r == nil {
		return at
	}
	for _, l := range r.deferred {
		if !l.until.IsZero() && (at.IsZero() || l.until.Before(at)) {
			at = l.until
		}
	}
	return at
}
