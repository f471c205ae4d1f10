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

// The start of a unit of the documents is queued and not waited for by its task: the unit may be
// ordered after the agent. Whether it came up is looked at when all else of the pass is done. One
// that did not is a failure of its task, with what systemd and the journal say of it.

// StartError is a unit that did not come up.
type StartError struct {
	Unit string
	Why  string // "it failed (exit-code, exit code 3)"
	Said string // the last lines of its journal, or ""
}

func (e *StartError) Error() string {
	text := e.Unit + ": " + e.Why
	if e.Said != "" {
		text += ": " + e.Said
	}
	return fmt.Sprintf("%s: see `journalctl -u %s`", text, e.Unit)
}

// StartOf is the task of a unit whose start is looked at.
func StartOf(t tasks.Task) (tasks.UnitState, bool) {
	u, ok := t.(tasks.UnitState)
	return u, ok && u.Within > 0 && u.Active != nil && *u.Active
}

// FailedStart is the error of a unit that did not come up, nil of one that may.
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

// startError says how the last run of a unit ended.
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

// Stays is the error of a unit that was started again and again, and is left alone for now: nil
// where it is not the unit's own doing. unproved says that none of the starts was seen to end well.
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

// Waiting is how a pass waits for the units that it starts. A person, or a boot script, who asks
// for a pass is told how it ended. The daemon's own passes wait for what kubelet is to wait for, as
// long as kubelet waits; afterwards repair is not kept waiting.
type Waiting struct {
	Daemon bool // it is a pass of the daemon's own
	Ready  bool // and READY was said
}

// bide is that on a host.
type bide struct {
	all    bool // for each; else only for what kubelet waits for
	none   bool // for none: each is looked at once
	behind bool // for what is queued too: that does not wait for us
}

// bide: what is queued is waited for unless it may wait for the agent, which is starting.
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

// started are the units whose start this pass asked for, or found under way.
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

// Starting returns a question for a checkpoint: is a unit still on its way up, or in its reload or
// restart? What units do then may cut the node off, and the probes are to see that. Before READY it
// leaves out units that kubelet does not wait for, and those that may wait for the agent. Nil: no
// unit starts.
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

// Await looks at the units that were started, and puts into the report what became of each. any
// says that there are some, again that one is coming up.
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

// awaitStart waits for one unit: nil when it is up, a wait when that is not known, a [StartError]
// when it failed. What takes longer than it may is stopped.
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

// lookAtStart is how the start of a unit goes. kind is its Type once it is active, else "".
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

// tooLate stops what has not started in time.
func tooLate(ctx context.Context, h *host.Host, u tasks.UnitState) error {
	said := h.Live.Units.UnitEnd(ctx, u.Name).Journal
	if err := h.Units.StopUnit(ctx, u.Name, false); err != nil {
		return err
	}
	why := fmt.Sprintf("it did not start within %s, and was stopped: spec.hooks has a timeout for what takes longer",
		u.Within)
	return graph.Permanent(&StartError{Unit: u.Name, Why: why, Said: said})
}
