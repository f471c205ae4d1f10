package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// plan asks every task what it would change on view, upstream first, each on the host as the tasks
// before it will have left it. owed are effects that an earlier run still owes; refused are tasks
// whose change is not made, with the reason; drift, which may be nil, judges the changes; gone is
// what this run removes at its end.
func plan(ctx context.Context, g *graph.Graph[tasks.Task], view host.View, owed map[string][]string, refused map[graph.Key]error, drift *drift, gone ...host.Fact) (*changes, graph.Report[tasks.Task]) {
	pending := host.NewPending(owed)
	pending.Add(gone...)
	over := pending.Over(view)
	out := newChanges()
	out.repairs = drift.repairs()
	rep := graph.Run(ctx, g, graph.RunOptions{Deadline: planDeadline}, func(ctx context.Context, t tasks.Task) error {
		c, err := look(ctx, t, over)
		if err != nil || c == nil {
			return err
		}
		key := t.Owns()[0]
		if l := drift.judge(ctx, t, c); l != nil {
			return l.end()
		}
		if why := refused[key]; why != nil && c.NotHere == "" {
			return why
		}
		if err := late(ctx, view, t); err != nil {
			return err
		}
		drift.spare(ctx, t, c)
		out.put(key, c)
		if c.NotHere != "" {
			return nil
		}
		pending.Add(c.Pending...)
		for _, effect := range c.Asks {
			pending.Ask(string(effect), string(key))
		}
		return nil
	})
	return out, rep
}

// planStill plans a task. A plan looks at one thing several times, and somebody may remove it
// between two looks: it is planned again then, twice at most. What fails each time is not there for
// another reason.
func planStill(ctx context.Context, t tasks.Task, v host.View) (c *tasks.Change, err error) {
	for range 3 {
		if c, err = t.Plan(ctx, v); !errors.Is(err, host.ErrNotExist) {
			break
		}
	}
	return c, err
}

// steps turns what became of the tasks into a report's steps, in plan order.
// changed is the state of a task that has a change: Planned, or Done after apply. pods puts into a
// step what pods lack without it; nil: nobody asks.
func steps(rep graph.Report[tasks.Task], ch *changes, changed report.State, pods func(*report.Step, tasks.Task)) []report.Step {
	var out []report.Step
	for i := range rep.Results {
		res := &rep.Results[i]
		key := res.Node.Owns()[0]
		c := ch.get(key)
		left := ch.repairs.later(key)
		if res.State == graph.Done && c == nil && left == nil {
			continue
		}
		if c == nil && left != nil {
			c = left.change
		}
		s := step(res, key, c, changed)
		s.Repair = c != nil && c.NotHere == "" && ch.isRepair(key)
		if left != nil && res.Because == "" {
			left.tell(&s)
		}
		if fought := ch.repairs.contested(key); fought != nil && s.State == report.Done {
			fought.tell(&s)
			s.Repair = true
		}
		if pods != nil {
			pods(&s, res.Node)
		}
		out = append(out, s)
	}
	return out
}

func step(res *graph.Result[tasks.Task], key graph.Key, c *tasks.Change, changed report.State) report.Step {
	s := report.Step{Key: string(key), Gate: gateName(res.Node.Gate()), Origin: res.Node.Origin()}
	var meta tasks.Meta
	if m, ok := res.Node.(interface{ Base() tasks.Meta }); ok {
		meta = m.Base()
	}
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
		if c.NotHere != "" {
			s.State, s.Message = report.NotHere, c.NotHere
		}
	case graph.Failed:
		s.State, s.Refused, s.Alone = report.Failed, refusal(res.Err), failsAlone(res.Err)
		s.Asks, s.Disruption, s.Reason, s.Class, s.ClassWhy = nil, "", "", "", ""
	case graph.Waiting:
		var fetching *fetchingError
		s.State, s.Fetching = report.Waits, res.Because == "" && errors.As(res.Err, &fetching)
	case graph.Skipped:
		s.State = report.Skipped
	case graph.Cancelled:
		s.State = report.Stopped
	}
	return s
}

// allowed is a run without what fails alone.
func allowed(rep graph.Report[tasks.Task]) graph.Report[tasks.Task] {
	alone := func(res graph.Result[tasks.Task]) bool { return failsAlone(res.Err) }
	if slices.ContainsFunc(rep.Results, alone) {
		rep.Results = slices.DeleteFunc(slices.Clone(rep.Results), alone)
	}
	return rep
}

// failsAlone says of a task that nothing but what needs it is held up for it: no document may ask
// for it, or the host keeps it from being made and the network does without it. A further pass
// would not make it either.
func failsAlone(err error) bool {
	var held *heldError
	return err != nil && (refusal(err) == report.RefusedByRule || errors.As(err, &held))
}

// refusal says by what a change is refused that failed; "": by nothing.
func refusal(err error) report.Refusal {
	var rule *refusedError
	var boot *BootFailedError
	var unit *UnitDownError
	switch {
	case errors.As(err, &rule):
		return report.RefusedByRule
	case errors.As(err, &boot):
		return report.RefusedByBoot
	case errors.As(err, &unit):
		return report.RefusedByUnit
	}
	return ""
}

func gateName(g graph.Gate) string {
	if g == graph.AfterKubelet {
		return "after kubelet"
	}
	return "before kubelet"
}

// failure is the error of a run without the noise of what it skipped.
func failure(rep graph.Report[tasks.Task]) error {
	if err := rep.Err(); err != nil {
		return &RunError{Err: err, Failed: rep.Count(graph.Failed)}
	}
	return nil
}

// RunError is a run in which tasks failed; every one of them is in Err.
type RunError struct {
	Err    error
	Failed int
}

func (e *RunError) Error() string { return e.Err.Error() }

// Unwrap is the joined errors of the tasks.
func (e *RunError) Unwrap() error { return e.Err }

// asRunError says whether the tasks failed, as opposed to what came before them.
func asRunError(err error) bool {
	var run *RunError
	return errors.As(err, &run)
}

// BesidesTasks is what of a pass's error its plan does not tell: what failed around the tasks, as a
// ledger that cannot be written. Nil if there is no such thing. Whoever prints the plan prints it
// too.
func BesidesTasks(err error) error {
	switch e := err.(type) { // this is the walk itself
	case *RunError:
		return nil
	case interface{ Unwrap() []error }:
		var rest []error
		for _, sub := range e.Unwrap() {
			rest = append(rest, BesidesTasks(sub))
		}
		return errors.Join(rest...)
	}
	return err
}
