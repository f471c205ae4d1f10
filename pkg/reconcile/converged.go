package reconcile

import (
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/tasks"
)

// Converged is what a pass that ended with everything right knew: what is wanted, and the ledger.
// With it a single key can be repaired without another pass: see docs/adr/0030-direct.md. Only one
// goroutine may use it.
type Converged struct {
	desired *desired.State
	graph   *tasks.Graph
	set     *desired.Records
	facts   *host.Facts
	cached  *ledger.Cached
}

// Ledger returns the cached ledger; nil without a state. The caller may keep it alone: a pass over
// many files then holds the tasks of one state and not of two.
func (s *Converged) Ledger() *ledger.Cached {
	if s == nil {
		return nil
	}
	return s.cached
}

// Tasks returns the wanted tasks. The caller must not change the list.
func (s *Converged) Tasks() []tasks.Task { return s.set.Order }
