package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/report"
)

// ending is how a pass ended, whoever made it.
type ending struct {
	plan    *report.Plan // nil when there was none
	text    string       // what a command without a plan says
	err     error
	besides error // what of err the plan does not tell
	again   bool  // all that failed was found otherwise than planned
}

// endingOf is that of a pass which this process made.
func endingOf(plan *report.Plan, err error) ending {
	return ending{plan: plan, err: err, besides: changes.BesidesTasks(err), again: execute.OnlyChangedSincePlanned(err)}
}

// viaDaemon has the daemon do it, if one works on this root, in its own loop; else here does it,
// under the lock of a pass.
func (f *flags) viaDaemon(
	ctx context.Context, s streams, p *progress, req control.Request,
	here func(context.Context, reconcile.Hooks) ending,
) ending {
	outlivePipe()
	c, err := control.Dial(ctx, host.Options{Root: f.root}, version)
	switch {
	case errors.Is(err, control.ErrNoDaemon):
		return here(ctx, p.hooks())
	case err != nil:
		return ending{err: err, besides: err}
	}
	defer c.Close() // all was said
	if c.Version != version && !p.saidVersion {
		p.say("agent: the daemon is netwright %s and does this; this command is of %s: restart the daemon for it to "+
			"be of the same version\n", c.Version, version)
		p.saidVersion = true
	}
	req.Version, req.By = version, currentUser()
	last, err := c.Do(ctx, req, p.onEvent())
	out := ending{plan: last.Plan, text: last.Text, err: err, besides: err}
	if f := last.Error; f != nil {
		out.again, out.besides = f.Again, nil
		if f.Besides != "" {
			out.besides = errors.New(f.Besides)
		}
	}
	return out
}

// onEvent shows what a daemon tells as if it were done here.
func (p *progress) onEvent() func(control.Event) {
	h := p.hooks()
	return func(e control.Event) {
		switch e.Event {
		case control.Queued:
			p.say("  … the daemon is at %s; this comes next\n", e.Text)
		case control.Note:
			p.say("agent: %s\n", e.Text)
		case control.Plan:
			if e.Plan != nil {
				h.OnPlan(e.Plan)
			}
		case control.Start:
			h.OnStart(graph.Key(e.Key))
		case control.Done:
			h.OnDone(graph.Key(e.Key), graph.Done)
		case control.Retry:
			p.say("  … %s: %s; trying again in %s\n", e.Key, e.Text, e.Pause.Round(time.Second/10))
		case control.Hello, control.Begin, control.End: // nothing for a person
		}
	}
}

// show has a change of the host made, by the daemon or here, with its plan before and its end
// after.
func (f *flags) show(
	ctx context.Context, s streams, req control.Request,
	here func(context.Context, reconcile.Hooks) (*report.Plan, error),
) error {
	p := newProgress(f, s, false)
	end := f.viaDaemon(ctx, s, p, req,
		func(ctx context.Context, h reconcile.Hooks) ending { return endingOf(here(ctx, h)) })
	return p.shows(end)
}

// shows prints the end of a change that is made once.
func (p *progress) shows(end ending) error {
	p.end()
	if end.plan == nil {
		return end.err
	}
	if err := p.result(end.plan); err != nil {
		return fmt.Errorf("print what was done: %w", err)
	}
	switch {
	case end.err == nil:
		return nil
	case end.plan.Summary.Failed == 0:
		return end.err // the plan does not say it
	}
	return exit(exitError)
}
