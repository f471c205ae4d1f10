// Package changes is what a pass would change, and what became of it: a set of changes that passes
// plan and apply, the repairs among them, and how reports show both. It judges nothing and writes
// nothing.
package changes

import (
	"maps"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// Set has the changes of one run by the first keys of their tasks. Tasks that are right are not in
// it: a no-op has an empty Set.
type Set struct {
	mu      sync.Mutex
	ByKey   map[graph.Key]*tasks.Change
	Repairs *Repairs // what of them brings something back
}

// NewSet is an empty one.
func NewSet() *Set { return &Set{ByKey: map[graph.Key]*tasks.Change{}} }

// Without is the set without the changes of some tasks.
func (c *Set) Without(keys map[graph.Key]error) *Set {
	rest := &Set{ByKey: maps.Clone(c.ByKey), Repairs: c.Repairs}
	for key := range keys {
		delete(rest.ByKey, key)
	}
	return rest
}

// Put puts the change of a task in.
func (c *Set) Put(key graph.Key, ch *tasks.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ByKey[key] = ch
}

// Get is the change of a task; nil: it has none.
func (c *Set) Get(key graph.Key) *tasks.Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ByKey[key]
}

// Any says that something changes: what is only listed, because it is never set on this host, does
// not.
func (c *Set) Any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range c.ByKey {
		if ch.NotApplicable == "" {
			return true
		}
	}
	return false
}

// IsRepair says that the change of a task is one; of an effect, that all who ask for it are
// repaired.
func (c *Set) IsRepair(key graph.Key) bool {
	if tasks.IsState(key) {
		return c.Repairs.Note(key) != nil
	}
	asked := false
	for by, other := range c.ByKey {
		if other.NotApplicable == "" && slices.Contains(other.Effects, key) {
			if asked = true; c.Repairs.Note(by) == nil {
				return false
			}
		}
	}
	return asked
}

// ProveAll gives every change one proof.
func (c *Set) ProveAll(proof tasks.Proof) {
	for _, change := range c.ByKey {
		change.Proof = proof
	}
}
