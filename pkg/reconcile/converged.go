package reconcile

import (
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/tasks"
)

// Converged is what a pass knew that ended with everything right: what is wanted, and the ledger
// that says so. With it a single key is repaired without another pass: docs/adr/0030-direct.md.
// Its user is one goroutine.
type Converged struct {
	desired *desired.State
	graph   *tasks.Graph
	set     *desired.Records
	facts   *host.Facts
	cached  *ledger.Cached
}

// Tasks are those that are wanted. The caller must not change the list.
func (s *Converged) Tasks() []tasks.Task { return s.set.Order }
