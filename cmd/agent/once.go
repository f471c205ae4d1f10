package main

import (
	"context"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/reconcile"
)

func (o *runOptions) runOnce(ctx context.Context) error {
	if err := o.f.Read(); err != nil {
		return err
	}
	d := cli.NewDisplay(o.f)
	req := control.Request{Command: control.Once, Verify: o.f.Host.Verify, Target: o.f.Target(),
		AllowDisruptive: o.disruptive, AcceptOlder: o.f.Trust.Older}
	if o.confirm > 0 {
		req.Command, req.For = control.OnceConfirmed, o.confirm
	}
	var here func(context.Context, reconcile.Hooks) cli.Ended
	return o.converge(ctx, d, func(ctx context.Context) cli.Ended {
		return d.Ask(ctx, req, func(ctx context.Context, h reconcile.Hooks) cli.Ended {
			if here == nil { // open the store only where no daemon runs: it may be locked or unreachable
				w, err := o.open(zap.NewNop())
				if err != nil {
					return cli.Ended{Err: err}
				}
				here = o.passes(w)
			}
			return here(ctx, h)
		})
	})
}
