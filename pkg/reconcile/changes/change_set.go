// Package changes has what a pass would change and what became of it: the set of changes that
// passes plan and apply, the repairs among them, and how reports show both. It decides nothing and
// writes nothing.
package changes

import (
	"maps"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// Set has the changes of one run by the first keys of their tasks. A task that is right is not in
// it, so a run with nothing to do has an empty Set.
type Set struct {
	mu      sync.Mutex
	ByKey   map[graph.Key]*tasks.Change
	Repairs *Repairs // the changes that are repairs
}

// NewSet returns an empty set.
func NewSet() *Set { return &Set{ByKey: map[graph.Key]*tasks.Change{}} }

// Without returns the set without the changes of some tasks.
func (c *Set) Without(keys map[graph.Key]error) *Set {
	rest := &Set{ByKey: maps.Clone(c.ByKey), Repairs: c.Repairs}
	for key := range keys {
		delete(rest.ByKey, key)
	}
	return rest
}

// Put adds the change of a task.
func (c *Set) Put(key graph.Key, ch *tasks.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ByKey[key] = ch
}

// Get returns the change of a task, or nil if it has none.
func (c *Set) Get(key graph.Key) *tasks.Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ByKey[key]
}

// Any reports whether anything changes. A change that is only listed, because the key is never set
// on this host, does not count.
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

// IsRepair reports whether the change of a task is a repair. An effect is a repair if all changes
// that ask for it are.
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

// ProveAll gives all changes the same proof.
func (c *Set) ProveAll(proof tasks.Proof) {
	for _, change := range c.ByKey {
		change.Proof = proof
	}
}
