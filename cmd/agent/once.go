package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
)

// waitPause is the time between two looks of --once --wait.
const waitPause = 2 * time.Second

// maxPasses bounds --once: what changes under our hands for so long is somebody else's doing.
const maxPasses = 3

func (f *flags) print(s streams, plan *report.Plan) error {
	if !f.text() {
		return f.data(s, plan)
	}
	return report.Text(s.out, plan, report.TextOptions{Color: isTerminal(s.out), Diffs: true})
}

func runOnce(ctx context.Context, f *flags, s streams) error {
	if err := f.readConf(); err != nil {
		return err
	}
	p := newProgress(f, s, false)
	req := control.Request{Command: control.Once, Verify: f.verify, Target: f.target(), AllowDisruptive: f.disruptive,
		AcceptOlder: f.trust.older}
	if f.confirm > 0 {
		req.Command, req.For = control.OnceConfirmed, f.confirm
	}
	var here func(context.Context, reconcile.Hooks) ending
	return f.converge(ctx, p, func(ctx context.Context) ending {
		return f.beside(ctx, s, p, req, func(ctx context.Context, h reconcile.Hooks) ending {
			if here == nil { // not before it is known that no daemon runs: it may be held, and without a store
				w, err := f.wire(zap.NewNop())
				if err != nil {
					return ending{err: err}
				}
				here = w.passes(s)
			}
			return here(ctx, h)
		})
	})
}

// passes makes passes in this process, with the documents as they are at the first.
func (w *wired) passes(s streams) func(context.Context, reconcile.Hooks) ending {
	var d *desired.State
	loaded := false
	return func(ctx context.Context, h reconcile.Hooks) ending {
		if !loaded {
			if _, err := w.pass.Session().Recover(ctx); err != nil { // also where the store cannot be read
				fmt.Fprintln(s.err, "agent: warning:", err)
			}
			if err := w.pass.Session().FirstBoot(ctx); err != nil {
				return ending{err: err}
			}
			var err error
			if d, err = w.desired(ctx, s); err != nil {
				return ending{err: err}
			}
			loaded = true
		}
		pass := w.pass
		pass.Hooks, pass.TakeNow, pass.Afresh = h, whoAmI(), true
		end := endingOf(pass.Converge(ctx, d))
		end.besides = errors.Join(end.besides, w.unused)
		return end
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait: %w", context.Cause(ctx))
	case <-t.C:
		return nil
	}
}
