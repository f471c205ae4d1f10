package agent

import (
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// deferral is a key that somebody changed and that stays so for now.
type deferral struct {
	change *tasks.Change
	state  report.State
	text   string
	until  time.Time     // when it is repaired after all; zero: not by itself
	drift  *ledger.Drift // nil: it was never repaired
	pods   bool          // pods stand on it
	failed error         // it is nobody's doing: the unit does not come up
}

// end is how the visit of a task ends whose change is not made. What needs it goes on with what is
// there; if nothing is, it waits.
func (l *deferral) end() error {
	if l.failed != nil {
		return l.failed
	}
	if slices.ContainsFunc(l.change.Items, func(it tasks.Item) bool { return it.Op != tasks.Create }) {
		return nil
	}
	return graph.Wait(l.text)
}

// tell puts it into the step of its task.
func (l *deferral) tell(s *report.Step) {
	s.State, s.Message, s.Repair, s.Asks, s.Disruption = l.state, l.text, false, nil, ""
	s.Pods = l.pods
	if l.drift != nil {
		s.Count, s.Writer, s.By = len(l.drift.Recent), l.drift.Writer, l.drift.By
	}
	if l.drift != nil && l.pods && l.state == report.Contested {
		s.Count = l.drift.Repairs
	}
}
