// Package ownership says whose each key is: what a pass writes down before it changes something and
// after it, and what goes, stays or comes back when nobody wants it any more.
package ownership

import (
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/drift"
	"github.com/netwright/netwright/pkg/tasks"
)

// Transaction is one pass's dealings with the ledger: which keys are whose, and what that was
// before.
//
// The order of writing is what makes it true after a kill at any time: an entry, with whose the key
// is and its baseline, is written before the change (intend); how it ended, after (Commit).
type Transaction struct {
	Led      *ledger.Ledger
	Set      *desired.Records
	Changed  Policy
	Judge    *drift.Judge      // what of the changes brings back what somebody changed; nil where nothing does
	PinnedAt int               // the revision that the node is held at; 0: it follows the store
	later    []ledger.Revision // those after it, once somebody asked
	// wasInStep is [Transaction.InStep] before the pass wrote down what it was about to change.
	wasInStep bool
	// TimesBefore are as of [TimesBefore]; nil: the pass takes no checkpoint.
	TimesBefore map[string]int64

	// Repeats says that the ledger had all that was to be written down before the changes, as
	// [Transaction.Noted] has it: that they were about to be made is written with how they ended.
	Repeats bool

	// Unnoted says that nothing was written down before the changes, and that of the rest of the
	// set nothing is known: what they are is written with how they ended, and the head stays.
	Unnoted bool
}

// Begin is what a pass that wants these tasks does to the ledger. It reads nothing of the
// host.
func Begin(g *tasks.Graph, led *ledger.Ledger) (*Transaction, error) {
	set, err := desired.Record(g)
	c := &Transaction{Led: led, Set: set}
	c.wasInStep = c.InStep()
	return c, err
}

// InStep says that the ledger was left with this very set, and nothing open.
func (c *Transaction) InStep() bool {
	head := c.Led.Head()
	return head.Clean && head.Fingerprint == c.Set.Fingerprint
}

// wants says that the desired set has the key, or something below a directory that was made for it.
func wants(set *desired.Records, e ledger.Entry) bool {
	if set.Wants(e.Key) {
		return true
	}
	if !e.Parent {
		return false
	}
	for key := range set.Keys() {
		if key.Kind() == tasks.KindMount {
			key = tasks.FileKey(key.Name() + "/mounted") // it needs its own directory
		}
		for up, ok := graph.PathParent(key); ok; up, ok = graph.PathParent(up) {
			if up == e.Key {
				return true
			}
		}
	}
	return false
}
