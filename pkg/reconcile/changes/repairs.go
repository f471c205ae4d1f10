package changes

import (
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
	mu    sync.Mutex
	byKey map[graph.Key]repair
}

// repair is what was decided about a key that somebody changed.
type repair struct {
	note   *ledger.Drift // what the ledger says of it once it is repaired
	later  *Deferral     // it is not repaired now
	fought *Deferral     // it is repaired, and contested all the same, for pods stand on it
}

// NewRepairs has none yet.
func NewRepairs() *Repairs { return &Repairs{byKey: map[graph.Key]repair{}} }

// of is what was decided about a key.
func (r *Repairs) of(key graph.Key) repair {
	if r == nil {
		return repair{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byKey[key]
}

// set changes what was decided about a key.
func (r *Repairs) set(key graph.Key, change func(*repair)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := r.byKey[key]
	change(&is)
	r.byKey[key] = is
}

// Put notes that the change of a task is a repair. fought says why it is contested all the same;
// nil: it is not.
func (r *Repairs) Put(key graph.Key, note *ledger.Drift, fought *Deferral) {
	r.set(key, func(is *repair) { is.note, is.fought = note, fought })
}

// Postpone notes that a repair is not made now.
func (r *Repairs) Postpone(key graph.Key, l *Deferral) {
	r.set(key, func(is *repair) { is.later, is.fought = l, nil })
}

// Over notes that a key which was to be left is right.
func (r *Repairs) Over(key graph.Key) {
	if r.Later(key) != nil {
		r.set(key, func(is *repair) { is.later = nil })
	}
}

// Note is what the ledger says of a key once it is repaired; nil: its change is no repair.
func (r *Repairs) Note(key graph.Key) *ledger.Drift { return r.of(key).note }

// Later says that the change of a task is not made, and why; nil: it is.
func (r *Repairs) Later(key graph.Key) *Deferral { return r.of(key).later }

// Contested says that the repair of a task did not end the conflict about it; nil: there is none.
func (r *Repairs) Contested(key graph.Key) *Deferral { return r.of(key).fought }

// Keys are those that are repaired.
func (r *Repairs) Keys() (keys []graph.Key) {
	for key, is := range r.byKey {
		if is.note != nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// LookAgain is when the first of what is deferred is repaired after all; zero: nothing is.
func (r *Repairs) LookAgain() (at time.Time) {
	if r == nil {
		return at
	}
	for _, is := range r.byKey {
		if is.later != nil {
			at = report.Sooner(at, is.later.Until)
		}
	}
	return at
}
