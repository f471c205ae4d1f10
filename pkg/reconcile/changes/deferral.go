package changes

import (
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Deferral is a change back to what is wanted that is not made now.
type Deferral struct {
	Change *tasks.Change
	State  report.State
	Text   string
	Until  time.Time     // when the key is repaired; zero: not by itself
	Drift  *ledger.Drift // nil: the key was never repaired
	Pods   bool          // pods depend on the key
	Failed error         // the unit does not come up, and no other program is the cause
}

// End returns how the visit of a task ends whose change is not made. Tasks that need it go on with
// what is there. If nothing is there, they wait.
func (l *Deferral) End() error {
	if l.Failed != nil {
		return l.Failed
	}
	if slices.ContainsFunc(l.Change.Items, func(it tasks.Item) bool { return it.Op != tasks.Create }) {
		return nil
	}
	return graph.Wait(l.Text)
}

// annotate writes the deferral into the step of its task.
func (l *Deferral) annotate(s *report.Step) {
	s.State, s.Message, s.Repair, s.Effects, s.Disruption = l.State, l.Text, false, nil, ""
	s.Pods = l.Pods
	if l.Drift != nil {
		s.Count, s.Writer, s.By = len(l.Drift.Recent), l.Drift.Writer, l.Drift.By
	}
	if l.Drift != nil && l.Pods && l.State == report.Contested {
		s.Count = l.Drift.Repairs
	}
}
