package reconcile

import (
	"context"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/reconcile/desired"
)

// checkSavedPlan refuses a pass that would make another change than the one that somebody agreed
// to. It plans as a dry run does, and changes nothing.
func (p Pass) checkSavedPlan(ctx context.Context, d *desired.State, h *host.Host, led *ledger.Ledger) error {
	if p.Agreed == "" {
		return nil
	}
	r, err := p.show(ctx, d, h.Live.View(), led)
	if err != nil {
		return err
	}
	if r.report().Intent() != p.Agreed {
		return problem.PlanStale.Errorf("the host or the store changed since the plan was made, and nothing " +
			"was applied: make a new plan with `agent plan --out`")
	}
	return nil
}
