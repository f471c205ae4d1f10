package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/report"
)

// Ended is the result of a pass, made by the daemon or by this process.
type Ended struct {
	Plan    *report.Plan // nil: there was no plan
	Text    string       // the answer of a command that has no plan
	Err     error
	Besides error // the part of Err that the plan does not show
	Again   bool  // each failed key differed from the plan when the pass came to it
	Here    bool  // this process made the pass
}

// EndedWith returns the result of a pass that this process made.
func EndedWith(plan *report.Plan, err error) Ended {
	return Ended{Plan: plan, Err: err, Besides: changes.BesidesTasks(err), Again: execute.OnlyChangedSincePlanned(err),
		Here: true}
}

// Do runs a command that needs no newer documents: in the daemon, or in this process where none
// runs.
func (d *Display) Do(ctx context.Context, req control.Request) Ended {
	return d.Ask(ctx, req, func(ctx context.Context, h reconcile.Hooks) Ended {
		pass := d.f.LocalThatChanges()
		pass.Hooks, req.By = h, pass.By
		said, plan, err := pass.Do(ctx, req)
		end := EndedWith(plan, err)
		end.Text = said
		return end
	})
}

// Ask sends a request to the daemon that works on this root. Where none runs, it calls here, which
// makes the pass in this process under the lock of a pass.
func (d *Display) Ask(
	ctx context.Context, req control.Request, here func(context.Context, reconcile.Hooks) Ended,
) Ended {
	OutlivePipe()
	d.begin()
	defer d.End()
	version := d.f.Kube.Version
	c, err := control.Dial(ctx, d.f.Host, version)
	switch {
	case errors.Is(err, control.ErrNoDaemon):
		if err := RefuseOtherNetwork(d.f.Host); err != nil {
			return Ended{Err: err, Besides: err}
		}
		return here(ctx, d.Hooks())
	case err != nil:
		return Ended{Err: err, Besides: err}
	}
	defer c.Close() // the daemon has sent its result
	if c.Version != version && !d.saidVersion {
		d.say("agent: the daemon is netwright %s and does this; this command is %s: restart the daemon, so "+
			"that both have the same version\n", c.Version, version)
		d.saidVersion = true
	}
	req.Version, req.By = version, CurrentUser()
	last, err := c.Do(ctx, req, d.onEvent())
	out := Ended{Plan: last.Plan, Text: last.Text, Err: err, Besides: err}
	if f := last.Error; f != nil {
		out.Again, out.Besides = f.Again, nil
		if f.Besides != "" {
			out.Besides = &control.Failure{Text: f.Besides, ID: f.ID}
		}
	}
	return out
}

// onEvent returns a function that shows the daemon's events in the same way as a pass of this
// process.
func (d *Display) onEvent() func(control.Event) {
	h := d.Hooks()
	return func(e control.Event) {
		switch e.Event {
		case control.Queued:
			d.say("  … the daemon is at %s; this comes next\n", e.Text)
		case control.Note:
			d.say("agent: %s\n", e.Text)
		case control.Plan:
			if e.Plan != nil {
				h.OnPlan(e.Plan)
			}
		case control.Start:
			h.OnStart(graph.Key(e.Key))
		case control.Done:
			h.OnDone(graph.Key(e.Key), graph.Done)
		case control.Retry:
			d.say("  … %s: %s; trying again in %s\n", e.Key, e.Text, e.Pause.Round(time.Second/10))
		case control.Hello, control.Begin, control.End: // not shown
		}
	}
}

// Show prints the result of a command that makes one pass.
func (d *Display) Show(end Ended) error {
	d.End()
	if end.Plan == nil {
		return end.Err
	}
	if err := d.Result(end.Plan); err != nil {
		return fmt.Errorf("print what was done: %w", err)
	}
	switch {
	case end.Err == nil:
		return nil
	case end.Plan.Summary.Failed == 0:
		return end.Err // the plan does not show this error
	}
	return ExitError
}
