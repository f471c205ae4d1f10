package ownership

import (
	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/tasks"
)

// Policy says who wants that things of ours go although somebody changed them since:
// "cluster.yaml:12:5" or a flag. "" is nobody: they are reported and stay.
type Policy string

// PolicyOf is that of the documents. A revision has none: what is brought back is not what
// the documents say now.
func PolicyOf(d *desired.State) Policy {
	if d.Pinned != nil || d.Node.Prune.Changed != policy.Remove {
		return ""
	}
	return Policy(d.Node.Origin("spec.prune.changed").String())
}

// Reason is what a plan says of something that goes although it was changed, "" of what was not.
func (p Policy) Reason(changed bool) string {
	if !changed || p == "" {
		return ""
	}
	return "somebody changed it, and it goes all the same by " + string(p)
}

// NotOurs is what is said of a key of ours in whose place somebody has put something of their own:
// whoever wants what was changed to go, too, does not mean that.
const NotOurs = "somebody has put their own in its place; remove it by hand if it is not needed"

// Unmanaged says that what is at a key of ours cannot be ours any more.
func Unmanaged(e ledger.Entry, k tasks.StateReader, live string) bool {
	c, ok := k.(tasks.Claimer)
	return ok && e.Mode != ledger.Found && c.Unmanaged(live)
}
