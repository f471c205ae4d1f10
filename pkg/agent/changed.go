package agent

import (
	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// changedPolicy says who wants that things of ours go although somebody changed them since:
// "cluster.yaml:12:5" or a flag. "" is nobody: they are reported and stay.
type changedPolicy string

// changedPolicy is that of the documents. A revision has none: what is brought back is not what the
// documents say now.
func (d *Desired) changedPolicy() changedPolicy {
	if d.held != nil || d.Node.Prune.Changed != policy.Remove {
		return ""
	}
	return changedPolicy(d.Node.Origin("spec.prune.changed").String())
}

// resetPolicy is that of a reset: the ledger alone speaks, and the person who asks for it.
func (p Pass) resetPolicy() changedPolicy {
	if p.RemoveChanged {
		return "--changed=remove"
	}
	return ""
}

// reason is what a plan says of something that goes although it was changed, "" of what was not.
func (p changedPolicy) reason(changed bool) string {
	if !changed || p == "" {
		return ""
	}
	return "somebody changed it, and it goes all the same by " + string(p)
}

// notOurs is what is said of a key of ours in whose place somebody has put something of their own:
// whoever wants what was changed to go, too, does not mean that.
const notOurs = "somebody has put their own in its place; remove it by hand if it is not needed"

// foreign says that what is at a key of ours cannot be ours any more.
func foreign(e ledger.Entry, k tasks.Keeper, live string) bool {
	c, ok := k.(tasks.Claimer)
	return ok && e.Mode != ledger.Found && c.Foreign(live)
}
