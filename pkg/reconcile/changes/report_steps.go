package changes

import (
	"errors"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Steps turns the results of the tasks into a report's steps, in plan order. changed is the state
// of a task that has a change: Planned, or Done after apply. pods writes into a step what pods lack
// without its key. It may be nil.
func (w Work) Steps(changed report.State, pods func(*report.Step, tasks.Task)) []report.Step {
	out := make([]report.Step, 0, len(w.Changes.ByKey))
	for i := range w.Rep.Results {
		res := &w.Rep.Results[i]
		key := res.Key
		c := w.Changes.Get(key)
		left := w.Changes.Repairs.Later(key)
		if res.State == graph.Done && c == nil && left == nil {
			continue
		}
		if c == nil && left != nil {
			c = left.Change
		}
		s := step(res, key, c, changed)
		s.Repair = c != nil && c.NotApplicable == "" && w.Changes.IsRepair(key)
		if left != nil && res.Because == "" {
			left.annotate(&s)
		}
		if fought := w.Changes.Repairs.Contested(key); fought != nil && s.State == report.Done {
			fought.annotate(&s)
			s.Repair = true
		}
		if pods != nil {
			pods(&s, res.Node)
		}
		out = append(out, s)
	}
	return out
}

func step(res *tasks.Result, key graph.Key, c *tasks.Change, changed report.State) report.Step {
	meta := res.Node.Base()
	s := report.Step{Key: string(key), Gate: GateName(meta.At), Origin: meta.From}
	s.Why, s.Overrides, s.Because = meta.Why, meta.Overrides, string(res.Because)
	if c != nil {
		report.FromChange(&s, c, meta.Secret)
	}
	if res.Err != nil {
		s.Message = messageOf(res.Err)
	}
	switch res.State {
	case graph.Done:
		s.State = changed
		if c.NotApplicable != "" {
			s.State, s.Message = report.NotApplicable, c.NotApplicable
		}
	case graph.Failed:
		s.State, s.Refused, s.Isolated = report.Failed, refusal(res.Err), isolated(res.Err)
		s.Effects, s.Disruption, s.Reason, s.Class, s.ClassWhy = nil, "", "", "", ""
	case graph.Waiting:
		var fetching *FetchingError
		s.State, s.Fetching = report.Waits, res.Because == "" && errors.As(res.Err, &fetching)
	case graph.Skipped:
		s.State = report.Skipped
	case graph.Cancelled:
		s.State = report.Stopped
	}
	return s
}

// GateName returns the name of a gate in plans.
func GateName(g graph.Gate) string {
	if g == graph.AfterKubelet {
		return "after kubelet"
	}
	return "before kubelet"
}

// Soonest returns the earliest of at, if it is not zero, and the times until which tasks wait.
func Soonest(at time.Time, rep tasks.Report) time.Time {
	for i := range rep.Results {
		if wait, ok := errors.AsType[*graph.WaitError](rep.Results[i].Err); ok {
			at = report.Sooner(at, wait.Until)
		}
	}
	return at
}
