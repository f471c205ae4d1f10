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

// Tasks returns the wanted tasks. The caller must not change the list.
func (s *Converged) Tasks() []tasks.Task { return s.set.Order }
