package ownership

import (
	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/tasks"
)

// Policy says who wants the agent's keys removed although somebody changed them since:
// "cluster.yaml:12:5" or a flag. "": nobody does, so such keys are reported and stay.
type Policy string

// PolicyOf returns the policy of the documents. A revision has none, because the present documents
// do not speak for what it restores.
func PolicyOf(d *desired.State) Policy {
	if d.Pinned != nil || d.Node.Prune.Changed != policy.Remove {
		return ""
	}
	return Policy(d.Node.Origin("spec.prune.changed").String())
}

// Reason returns what a plan says of a key that is removed although it was changed. It returns ""
// for a key that was not changed.
func (p Policy) Reason(changed bool) string {
	if !changed || p == "" {
		return ""
	}
	return "somebody changed it, and it is removed nevertheless, by " + string(p)
}

// NotOurs is the text about a key of the agent that somebody replaced by something of their own. It
// stays even if changed keys are to be removed.
const NotOurs = "somebody has replaced it with their own; remove it by hand if it is not needed"

// Unmanaged reports whether the state at a key of the agent can no longer be the agent's.
func Unmanaged(e ledger.Entry, k tasks.StateReader, live string) bool {
	c, ok := k.(tasks.Claimer)
	return ok && e.Mode != ledger.Found && c.Unmanaged(live)
}
