package changes

import (
	"slices"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
)

// Repairs has the repairs of a pass, and those of them that are not made now, by the first keys of
// their tasks. A nil Repairs has none.
type Repairs struct {
	mu    sync.Mutex
	byKey map[graph.Key]repair
}

// repair is what was decided about a key that somebody changed.
type repair struct {
	note   *ledger.Drift // what the ledger says about the key after the repair
	later  *Deferral     // the key is not repaired now
	fought *Deferral     // the key is repaired although it is contested, because pods depend on it
}

// NewRepairs returns an empty Repairs.
func NewRepairs() *Repairs { return &Repairs{byKey: map[graph.Key]repair{}} }

// of returns what was decided about a key.
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

// Put records that the change of a task is a repair. fought says why the key is contested all the
// same. It is nil if the key is not contested.
func (r *Repairs) Put(key graph.Key, note *ledger.Drift, fought *Deferral) {
	r.set(key, func(is *repair) { is.note, is.fought = note, fought })
}

// Postpone records that a repair is not made now.
func (r *Repairs) Postpone(key graph.Key, l *Deferral) {
	r.set(key, func(is *repair) { is.later, is.fought = l, nil })
}

// Over records that a key whose repair was postponed is right.
func (r *Repairs) Over(key graph.Key) {
	if r.Later(key) != nil {
		r.set(key, func(is *repair) { is.later = nil })
	}
}

// Note returns what the ledger says about a key after its repair, or nil if its change is no
// repair.
func (r *Repairs) Note(key graph.Key) *ledger.Drift { return r.of(key).note }

// Later returns why the change of a task is not made now, or nil if it is made.
func (r *Repairs) Later(key graph.Key) *Deferral { return r.of(key).later }

// Contested returns the conflict about a key that is repaired all the same, or nil if there is
// none.
func (r *Repairs) Contested(key graph.Key) *Deferral { return r.of(key).fought }

// Keys returns the keys that are repaired.
func (r *Repairs) Keys() (keys []graph.Key) {
	for key, is := range r.byKey {
		if is.note != nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// LookAgain returns when the first postponed repair is due, or zero if there is none.
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
