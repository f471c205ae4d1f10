package agent

import (
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// changes are the changes of one run by the task's first key; tasks that are
// right are not in it, so that a no-op keeps nothing.
type changes struct {
	mu      sync.Mutex
	byKey   map[graph.Key]*tasks.Change
	repairs *repairs
}

func newChanges() *changes { return &changes{byKey: map[graph.Key]*tasks.Change{}} }

func (c *changes) put(key graph.Key, ch *tasks.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byKey[key] = ch
}

func (c *changes) get(key graph.Key) *tasks.Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byKey[key]
}

// any says that something changes: what is only listed, because it is never set on this host, does
// not.
func (c *changes) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range c.byKey {
		if ch.NotHere == "" {
			return true
		}
	}
	return false
}

// isRepair says that the change of a task is one; of an effect, that all who ask for it are repaired.
func (c *changes) isRepair(key graph.Key) bool {
	if tasks.IsState(key) {
		return c.repairs.note(key) != nil
	}
	asked := false
	for by, other := range c.byKey {
		if other.NotHere == "" && slices.Contains(other.Asks, key) {
			if asked = true; c.repairs.note(by) == nil {
				return false
			}
		}
	}
	return asked
}

// all gives every change one proof.
func (c *changes) all(proof tasks.Proof) {
	for _, change := range c.byKey {
		change.Proof = proof
	}
}
