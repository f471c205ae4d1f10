// Package ownership decides who owns each key. It records what a pass changes before and after the
// change, and decides whether a key that nobody wants any more is removed, stays or is restored.
package ownership

import (
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/drift"
	"github.com/netwright/netwright/pkg/tasks"
)

// Transaction is what one pass reads from the ledger and writes into it: who owns which key, and
// what the key was before.
//
// The order of writes keeps the ledger true even if the agent is killed. Before a change,
// [Transaction.Intend] writes the entry with the owner and the baseline. After it,
// [Transaction.Commit] writes how the change ended.
type Transaction struct {
	Led      *ledger.Ledger
	Set      *desired.Records
	Changed  Policy
	Judge    *drift.Judge      // which changes undo somebody's change; nil: none does
	PinnedAt int               // the revision that the node is pinned to; 0: it follows the store
	later    []ledger.Revision // the revisions after PinnedAt; they are read when they are first needed
	// wasInStep is [Transaction.InStep] before the pass recorded what it was about to change.
	wasInStep bool
	// TimesBefore is the result of the function [TimesBefore]; nil: the pass takes no checkpoint.
	TimesBefore map[string]int64

	// Repeats means that the ledger already had all that must be recorded before the changes: see
	// [Transaction.Noted]. That they were about to be made is then written together with how they
	// ended.
	Repeats bool

	// Unnoted means that nothing was recorded before the changes, and that the state of the rest of
	// the set is unknown. The changes are recorded together with how they ended, and the head stays
	// as it was.
	Unnoted bool
}

// Begin returns the transaction of a pass that wants the tasks of g. It does not read the host.
func Begin(g *tasks.Graph, led *ledger.Ledger) (*Transaction, error) {
	set, err := desired.Record(g)
	c := &Transaction{Led: led, Set: set}
	c.wasInStep = c.InStep()
	return c, err
}

// InStep reports whether the last pass left the ledger with exactly this set and with nothing open.
func (c *Transaction) InStep() bool {
	head := c.Led.Head()
	return head.Clean && head.Fingerprint == c.Set.Fingerprint
}

// wants reports whether the desired set has the entry's key, or something below a directory that
// was made for it.
func wants(set *desired.Records, e ledger.Entry) bool {
	if set.Wants(e.Key) {
		return true
	}
	if !e.Parent {
		return false
	}
	for _, key := range set.Keys() {
		if key.Kind() == tasks.KindMount {
			key = tasks.FileKey(key.Name() + "/mounted") // a mount needs its own directory
		}
		for up, ok := graph.PathParent(key); ok; up, ok = graph.PathParent(up) {
			if up == e.Key {
				return true
			}
		}
	}
	return false
}
