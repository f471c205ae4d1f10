package reconcile

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
)

// locked does something to the host as the only one that does.
func (p Pass) locked(ctx context.Context, do func(*host.Host, *ledger.Ledger) (*report.Plan, error)) (*report.Plan, error) {
	unlock, err := ipc.Lock(ctx, p.Host.Files(), ledger.LockFile, p.Hooks.onWait())
	if err != nil {
		return nil, err
	}
	defer unlock()
	return p.holding(ctx, do)
}

// holding is locked for who has the lock.
func (p Pass) holding(ctx context.Context, do func(*host.Host, *ledger.Ledger) (*report.Plan, error)) (*report.Plan, error) {
	p.Hooks.enter("look")
	led, err := p.loadLedger()
	if err != nil {
		return nil, err
	}
	opt := p.Host
	opt.Stamps, opt.Log, opt.FollowLinks = led, p.Log, led.Head().Followed()
	h, err := host.Open(ctx, opt)
	if err != nil {
		return nil, fmt.Errorf("look at the host: %w", err)
	}
	defer h.Close() // every write was synced and checked where it was made
	p.API.Met(h.Facts())
	// Before an undo, which clears up what is staged.
	RecoverFirst(ctx, p.Log, h.Recover)
	if err := p.finishUndo(ctx, h, led); err != nil {
		return nil, err
	}
	if err := p.firstBoot(ctx, h, led); err != nil {
		return nil, err
	}
	out, err := do(h, led)
	history.Recall(out, h, led)
	p.Hooks.enter("record")
	if err := h.LearnVersions(ctx); err != nil && p.Log != nil {
		p.Log.Warn("a program's version stays unknown", zap.Error(err))
	}
	h.SettleStamps()
	return out, errors.Join(err, led.SaveOwed(ctx, h), led.SaveStamps(ctx, h))
}
