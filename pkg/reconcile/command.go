package reconcile

import (
	"context"

	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/report"
)

// Do carries out a person's command that needs no newer documents. The daemon calls it, or the
// command itself where no daemon runs. said is the answer of a command that has no plan.
func (p Pass) Do(ctx context.Context, req control.Request) (said string, plan *report.Plan, err error) {
	p.By = req.By
	switch req.Command {
	case control.Confirm:
		said, err = p.Confirm(ctx)
	case control.Resume:
		said, err = p.Session().Resume(ctx)
	case control.Pause:
		var z *report.Paused
		if z, err = p.Session().Pause(ctx, req.For, req.Reason); err == nil {
			said = z.String()
		}
	case control.Rollback:
		p.AllowDisruptive, p.EndPause = p.AllowDisruptive || req.AllowDisruptive, req.EndPause
		plan, err = p.Rollback(ctx, req.Revision)
	case control.Once, control.OnceConfirmed, control.Stop: // the daemon carries these out
	}
	return said, plan, err
}
