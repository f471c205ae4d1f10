package execute

import (
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/tasks"
)

// unaffected returns the tasks, by their first keys, that were right when they were planned, or are
// never set on this host, and that no change of the run can affect. It returns none if a change can
// affect anything: if it is not proved, asks for an effect, or is not known. Any other change
// affects the tasks that come after it in the graph. Actions and waits count as affected too, and
// so do the tasks after them.
func unaffected(plan changes.Work, refused map[graph.Key]error) map[graph.Key]bool {
	for _, c := range plan.Changes.ByKey {
		if c.NotApplicable == "" && (c.Proof == tasks.ProofNone || len(c.Effects) > 0 || c.Unknown != "") {
			return nil
		}
	}
	out := make(map[graph.Key]bool, len(plan.Rep.Results))
	var others []tasks.Task
	for i := range plan.Rep.Results {
		res := &plan.Rep.Results[i]
		key := res.Key
		c := plan.Changes.Get(key)
		right := res.State == graph.Done && (c == nil || c.NotApplicable != "") && refused[key] == nil
		if right && tasks.MayDrift(key) {
			out[key] = true
		} else {
			others = append(others, res.Node)
		}
	}
	for len(others) > 0 {
		t := others[len(others)-1]
		others = others[:len(others)-1]
		for _, e := range plan.Graph.Dependents(t) {
			if key := e.Node.Owns()[0]; out[key] {
				delete(out, key)
				others = append(others, e.Node)
			}
		}
	}
	return out
}
