package reconcile

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
)

// note remembers for the history what was done, which made no revision. It comes after the deed:
// where there is no room for the word, the deed stands.
func (p Pass) note(ctx context.Context, h *host.Host, d ledger.Deed) {
	d.Time, d.By = time.Now(), p.by()
	if err := ledger.NoteDeed(context.WithoutCancel(ctx), h, d); err != nil && p.Log != nil {
		p.Log.Warn("the history does not have it", zap.String("what", string(d.Act)), zap.Error(err))
	}
}

// noteForward remembers, where the node was at a revision before and the next was to have a number,
// that a generation brought back what a kept revision has: it is at that one again, and no new one
// says when and by which generation.
func (p Pass) noteForward(ctx context.Context, h *host.Host, led *ledger.Ledger, before, next int, plan *report.Plan) {
	now := led.Head().Current
	if plan == nil || before == 0 || now == before || now >= next || led.Head().Held != nil {
		return
	}
	p.note(ctx, h, ledger.Deed{Act: ledger.Forward, Revision: now, Generation: plan.Generation, Text: fmt.Sprintf("generation %d wants what revision %d has", plan.Generation, now)})
}
