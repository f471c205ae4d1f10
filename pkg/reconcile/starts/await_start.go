package starts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/service"
	"github.com/netwright/netwright/pkg/tasks"
)

// The task of a unit from the documents only enqueues the unit's start. It does not wait for it,
// because the unit may be ordered after the agent. At the end of the pass, Await checks whether the
// unit came up. If it did not, its task fails with what systemd and the journal say about it.

// StartError is the error of a unit that did not come up.
type StartError struct {
	Unit string
	Why  string // for example "it failed (exit-code, exit code 3)"
	Said string // the last lines of the unit's journal, or ""
}

func (e *StartError) Error() string {
	text := e.Unit + ": " + e.Why
	if e.Said != "" {
		text += ": " + e.Said
	}
	return fmt.Sprintf("%s: see `journalctl -u %s`", text, e.Unit)
}

// StartOf returns the task as a unit task, and whether the unit's start is checked.
func StartOf(t tasks.Task) (tasks.UnitState, bool) {
	u, ok := t.(tasks.UnitState)
	return u, ok && u.Within > 0 && u.Active != nil && *u.Active
}

// FailedStart returns the error of a unit that did not come up, or nil if the unit may still come
// up.
func FailedStart(ctx context.Context, v host.View, t tasks.Task) error {
	u, ok := StartOf(t)
	if !ok {
		return nil
	}
	now, err := v.Units.Unit(ctx, u.Name)
	if err != nil || judgeStart(now, "", 0, systemd.ClockUS()) != IsDown {
		return nil
	}
	return startError(ctx, v, now)
}

// startError returns an error that says how the last run of a unit ended.
func startError(ctx context.Context, v host.View, now systemd.UnitState) error {
	e := &StartError{Unit: now.Name, Why: "it is not started: its file is wrong (" + now.Load + ")"}
	if now.Load == "loaded" {
		end := systemd.UnitEnd{Result: now.Result}
		if l, ok := v.Units.(interface {
			UnitEnd(context.Context, string) systemd.UnitEnd
		}); ok {
			end = l.UnitEnd(ctx, now.Name)
		}
		e.Why, e.Said = fmt.Sprintf("it failed (%s)", end), end.Journal
	}
	return graph.Permanent(e)
}

// Stays returns the error of a unit that was started several times and is left alone for now. It
// returns nil if the unit itself is not the cause. unproved means that none of the starts was seen
// to end well.
func Stays(ctx context.Context, v host.View, t tasks.Task, unproved bool) error {
	if err := FailedStart(ctx, v, t); err != nil {
		return err
	}
	u, ok := StartOf(t)
	if !ok || !unproved {
		return nil
	}
	return graph.Permanent(&StartError{Unit: u.Name, Why: "it does not come up"})
}

// Waiting says how a pass waits for the units that it starts. A pass that a person or a boot script
// asks for waits for all of them, and reports the result. The daemon's own pass waits only for the
// units that kubelet needs, and only until READY. After that, repair does not wait for a unit.
type Waiting struct {
	Daemon bool // it is the daemon's own pass
	Ready  bool // the daemon has said READY
}

// bide says for which units the pass waits on a host.
type bide struct {
	all    bool // for each unit; otherwise only for the units that kubelet needs
	none   bool // for none: each unit is checked once
	behind bool // also for queued units, because their jobs do not wait for the agent
}

// bide returns for which units the pass waits. The pass does not wait for a queued unit while the
// agent is starting, because the unit's job may wait for the agent.
func (w Waiting) bide(ctx context.Context, h *host.Host) bide {
	b := bide{all: !w.Daemon, none: w.Daemon && w.Ready, behind: true}
	for _, name := range []string{service.Unit, h.Live.Units.OwnUnit(ctx)} {
		if name == "" {
			continue
		}
		if self, err := h.Live.Units.Unit(ctx, name); err == nil && self.Active == "activating" {
			b.behind = false
		}
	}
	return b
}

// started returns the tasks of the units whose start this pass asked for or found in progress.
func started(done changes.Work) (list []*tasks.Result) {
	for i := range done.Rep.Results {
		res := &done.Rep.Results[i]
		if _, starts := StartOf(res.Node); !starts {
			continue
		}
		key := res.Key
		c := done.Changes.Get(key)
		made := res.State == graph.Done && c != nil && c.NotApplicable == "" && done.Changes.Repairs.Later(key) == nil
		if made || res.State == graph.Waiting {
			list = append(list, res)
		}
	}
	return list
}

// Starting returns a question for the checkpoint: is any unit still starting, reloading or
// restarting? What the unit does then may cut the node off, so the probes must come after it.
// Before READY the question leaves out units that kubelet does not need, and units that may wait
// for the agent. Starting returns nil if no unit starts.
func (w Waiting) Starting(
	ctx context.Context, h *host.Host, done changes.Work, acting Acting,
) func(context.Context) bool {
	list := started(done)
	if len(list) == 0 && len(acting) == 0 {
		return nil
	}
	how := w.bide(ctx, h)
	return func(ctx context.Context) bool {
		acts := func(res *tasks.Result) bool { return how.acts(ctx, h, unitOf(res)) }
		return slices.ContainsFunc(acting, acts) || slices.ContainsFunc(list, func(res *tasks.Result) bool {
			if !how.all && !how.behind && res.Node.Base().At != graph.BeforeKubelet {
				return false
			}
			u, _ := StartOf(res.Node)
			now, _, v, err := lookAtStart(ctx, h, u.Name)
			return err == nil && now.Active != "active" && (v == Starting || v == Queued && how.behind)
		})
	}
}

// Await checks the units that were started, and writes the result of each into the report. any
// means that there are such units. again means that one of them is still starting.
func (w Waiting) Await(ctx context.Context, h *host.Host, done changes.Work) (any, again bool) {
	list := started(done)
	how, begun := bide{}, time.Now()
	if len(list) > 0 {
		how = w.bide(ctx, h)
	}
	for _, res := range list {
		u, _ := StartOf(res.Node)
		waits := !how.none && (how.all || res.Node.Base().At == graph.BeforeKubelet)
		err := awaitStart(ctx, h, u, begun, waits, how.behind)
		switch {
		case err == nil:
			res.State, res.Err = graph.Done, nil
		case graph.IsWait(err):
			res.State, res.Err = graph.Waiting, err
			again = true
		default:
			res.State, res.Err = graph.Failed, err
		}
	}
	return len(list) > 0, again
}

// awaitStart waits for one unit. It returns nil if the unit is up, a wait if that is not known yet,
// and a [StartError] if the unit failed. It stops a unit that takes longer than its time limit.
func awaitStart(ctx context.Context, h *host.Host, u tasks.UnitState, begun time.Time, waits, behind bool) error {
	for wait := 25 * time.Millisecond; ; wait = min(2*wait, 400*time.Millisecond) {
		now, kind, v, err := lookAtStart(ctx, h, u.Name)
		switch {
		case errors.Is(err, host.ErrNoLiveState):
			return nil
		case err != nil:
			return err
		}
		took := time.Since(begun)
		if now.Active == "activating" && now.StartedUS > 0 {
			took = max(took, time.Duration(systemd.ClockUS()-now.StartedUS)*time.Microsecond)
		}
		switch {
		case v == IsUp:
			return nil
		case v == IsDown:
			return startError(ctx, h.Live.View(), now)
		case v == Queued && !behind:
			return graph.Wait(u.Name + ", whose start is queued behind other units")
		case took > u.Within && kind == "":
			return tooLate(ctx, h, u)
		case !waits:
			return graph.Wait(u.Name + " to start")
		}
		if !host.Sleep(ctx, wait) {
			return context.Cause(ctx)
		}
	}
}

// lookAtStart returns how far the start of a unit is. kind is the unit's Type once the unit is
// active, otherwise "".
func lookAtStart(
	ctx context.Context, h *host.Host, unit string,
) (now systemd.UnitState, kind string, v Verdict, err error) {
	if now, err = h.Live.Units.Unit(ctx, unit); err != nil {
		return now, "", Starting, err
	}
	restarts := 0
	if now.Active == "active" {
		kind = h.Live.Units.UnitType(ctx, unit)
	} else if now.Sub == "auto-restart" {
		restarts = h.Live.Units.UnitRestarts(ctx, unit)
	}
	return now, kind, judgeStart(now, kind, restarts, systemd.ClockUS()), nil
}

// tooLate stops a unit that did not start in time, and returns the error.
func tooLate(ctx context.Context, h *host.Host, u tasks.UnitState) error {
	said := h.Live.Units.UnitEnd(ctx, u.Name).Journal
	if err := h.Units.StopUnit(ctx, u.Name, false); err != nil {
		return err
	}
	why := fmt.Sprintf("it did not start within %s, and was stopped: if it takes longer, raise its timeout "+
		"in spec.hooks",
		u.Within)
	return graph.Permanent(&StartError{Unit: u.Name, Why: why, Said: said})
}
