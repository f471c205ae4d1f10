// Package ownership says whose each key is: what a pass writes down before it changes something and
// after it, and what goes, stays or comes back when nobody wants it any more.
package ownership

import (
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/drift"
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
