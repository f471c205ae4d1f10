package changes

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
)

// Repairs are the changes of a pass that bring back what somebody changed, and those of them that
// are not made now, by the first keys of their tasks. Nil: there are none.
type Repairs struct {
	mu       sync.Mutex
	made     map[graph.Key]*ledger.Drift // what the ledger says of it once it is repaired
	deferred map[graph.Key]*Deferral     // what is not repaired now
	fought   map[graph.Key]*Deferral     // what is repaired, and contested all the same, for pods stand on it
}

// NewRepairs has none yet.
func NewRepairs() *Repairs {
	return &Repairs{made: map[graph.Key]*ledger.Drift{}, deferred: map[graph.Key]*Deferral{},
		fought: map[graph.Key]*Deferral{}}
}

// Put notes that the change of a task is a repair. fought says why it is contested all the same;
// nil: it is not.
func (r *Repairs) Put(key graph.Key, note *ledger.Drift, fought *Deferral) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made[key] = note
	if fought != nil {
		r.fought[key] = fought
	}
}

// Postpone notes that a repair is not made now.
func (r *Repairs) Postpone(key graph.Key, l *Deferral) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deferred[key] = l
	delete(r.fought, key)
}

// Note is what the ledger says of a key once it is repaired; nil: its change is no repair.
func (r *Repairs) Note(key graph.Key) *ledger.Drift {
	return noted(r, func() *ledger.Drift { return r.made[key] })
}

// Keys are those that are repaired.
func (r *Repairs) Keys() []graph.Key {
	return noted(r, func() []graph.Key { return slices.Sorted(maps.Keys(r.made)) })
}

// Later says that the change of a task is not made, and why; nil: it is.
func (r *Repairs) Later(key graph.Key) *Deferral {
	return noted(r, func() *Deferral { return r.deferred[key] })
}

// Contested says that the repair of a task did not end the conflict about it; nil: there is none.
func (r *Repairs) Contested(key graph.Key) *Deferral {
	return noted(r, func() *Deferral { return r.fought[key] })
}

// noted is what was noted, under the lock; nothing of no repairs.
func noted[T any](r *Repairs, of func() T) (none T) {
	if r == nil {
		return none
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return of()
}

// Over notes that a key which was to be left is right.
func (r *Repairs) Over(key graph.Key) {
	if r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.deferred, key)
	}
}

// LookAgain is when the first of what is deferred is repaired after all; zero: nothing is.
func (r *Repairs) LookAgain() (at time.Time) {
	if r == nil {
		return at
	}
	for _, l := range r.deferred {
		at = report.Sooner(at, l.Until)
	}
	return at
}
