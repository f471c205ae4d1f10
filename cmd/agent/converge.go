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

// waitPause is the time between two passes of --once --wait.
const waitPause = 2 * time.Second

// maxPasses limits the passes of --once after a key changed during a pass: more often than that,
// another program keeps changing it.
const maxPasses = 3

// desired loads the documents from the store, or the last good ones; unused then says why the
// store's are not used. A node that is pinned to a revision needs no documents.
func (o *runOptions) desired(ctx context.Context, w *cli.Opened) (d *desired.State, unused, err error) {
	cli.SayLimits(o.f)
	d, unused, err = w.Documents(ctx)
	if unused != nil && w.Pass.Session().Pinned() {
		fmt.Fprintln(o.f.Err, "agent:", desired.GoesOn(unused))
		return nil, nil, nil
	}
	return d, unused, err
}

// passes returns a function that makes passes in this process, all with the documents that the
// first pass loaded.
func (o *runOptions) passes(w *cli.Opened) func(context.Context, reconcile.Hooks) cli.Ended {
	var d *desired.State
	var unused error
	loaded := false
	return func(ctx context.Context, h reconcile.Hooks) cli.Ended {
		if !loaded {
			if _, err := w.Pass.Session().Recover(ctx); err != nil { // even if the store cannot be read
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

// converge makes passes until everything is right, or until another pass cannot help.
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
		case end.Plan.Awaits != nil: // nothing more is changed before the boot or the confirmation
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
		case end.Besides != nil: // the plan does not show this error
			return end.Besides
		case end.Err != nil:
			return cli.ExitError
		case end.Plan.Summary.Waiting > 0 && o.wait > 0:
			return cli.ExitWaiting
		}
		return nil
	}
}
