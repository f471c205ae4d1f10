package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/host"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/report"
)

// waitPause is the time between two looks of --once --wait.
const waitPause = 2 * time.Second

// maxPasses bounds --once: what changes under our hands for so long is somebody else's doing.
const maxPasses = 3

// desired loads what the store wants, or wanted last: unused says why it is not used then. A node
// that is held at a revision does without.
func (o *runOptions) desired(ctx context.Context, w *cli.Opened) (d *desired.State, unused, err error) {
	d, unused, err = w.Documents(ctx)
	if unused != nil && w.Pass.Session().Pinned() {
		fmt.Fprintf(o.f.Err, "agent: %v; going on, for the node is held at a revision\n", unused)
		return nil, nil, nil
	}
	return d, unused, err
}

// passes makes passes in this process, with the documents as they are at the first.
func (o *runOptions) passes(w *cli.Opened) func(context.Context, reconcile.Hooks) cli.Ended {
	var d *desired.State
	var unused error
	loaded := false
	return func(ctx context.Context, h reconcile.Hooks) cli.Ended {
		if !loaded {
			if _, err := w.Pass.Session().Recover(ctx); err != nil { // also where the store cannot be read
				fmt.Fprintln(o.f.Err, "agent: warning:", err)
			}
			err := w.Pass.Session().FirstBoot(ctx)
			if err == nil {
				d, unused, err = o.desired(ctx, w)
			}
			if err != nil {
				return cli.Ended{Err: err}
			}
			loaded = true
		}
		pass := w.Pass
		if h.OnFetch != nil {
			pass.Assets = fetch.Observed{Fetcher: pass.Assets, OnProgress: h.OnFetch}
		}
		pass.Hooks, pass.TakeNow, pass.ForceRepair = h, cli.CurrentUser(), true
		end := cli.EndedWith(pass.Converge(ctx, d))
		end.Besides = errors.Join(end.Besides, unused)
		return end
	}
}

// converge makes passes until all is right, or only time can help.
func (o *runOptions) converge(ctx context.Context, d *cli.Display, pass func(context.Context) cli.Ended) error {
	deadline := time.Now().Add(o.wait)
	var earlier report.Plan
	for passes := 1; ; passes++ {
		end := pass(ctx)
		d.End()
		if end.Plan == nil {
			return end.Err
		}
		end.Plan.AddRound(&earlier)
		earlier = *end.Plan
		switch {
		case end.Plan.Awaits != nil: // nothing more is changed before
		case end.Err != nil && passes < maxPasses && end.Again:
			continue
		case end.Err == nil && end.Plan.Summary.Waiting > 0 && time.Now().Before(deadline):
			d.Waiting(end.Plan)
			if !host.Sleep(ctx, waitPause) {
				return fmt.Errorf("wait: %w", context.Cause(ctx))
			}
			continue
		}
		if err := d.Result(end.Plan); err != nil {
			return err
		}
		switch {
		case end.Besides != nil: // the plan does not tell it
			return end.Besides
		case end.Err != nil:
			return cli.ExitError
		case end.Plan.Summary.Waiting > 0 && o.wait > 0:
			return cli.ExitWaiting
		}
		return nil
	}
}
