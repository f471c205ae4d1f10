package ownership

import (
	"errors"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/starts"
	"github.com/netwright/netwright/pkg/tasks"
)

// Undid records that it is a repair to make a change again that was gone when the agent looked
// after making it. The same holds for the next start of a unit that did not come up, or is not
// known to have come up. Each repair of the same key waits longer than the last.
func (c *Transaction) Undid(res *tasks.Result, b *ledger.Batch) {
	var gone *changes.NotConvergedError
	var down *starts.StartError
	e, known := c.Led.Entries()[res.Key]
	_, begins := starts.StartOf(res.Node)
	if known && e.Pending && c.Judge.WasQuicker(e.Key) && c.Judge.NameIn(&e) {
		b.Put = append(b.Put, e)
	}
	if !known || !e.Pending ||
		!errors.As(res.Err, &gone) && !errors.As(res.Err, &down) && !(begins && graph.IsWait(res.Err)) {
		return
	}
	if was := e; c.Judge.NameIn(&e) || !e.Again {
		e.Untried = e.Untried || !e.Again
		e.Again = true
		if !SameEntry(was, e) {
			b.Put = append(b.Put, e)
		}
	}
}
