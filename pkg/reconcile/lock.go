package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/netwright/netwright/pkg/host/hostfs"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
)

// locked does something to the host as the only one that does.
func (p Pass) locked(
	ctx context.Context, do func(*host.Host, *ledger.Ledger) (*report.Plan, error),
) (*report.Plan, error) {
	unlock, err := ipc.Lock(ctx, p.Host.Files(), ledger.LockFile, p.Hooks.onWait())
	if err != nil {
		return nil, err
	}
	defer unlock()
	return p.holding(ctx, do)
}

// holding is locked for who has the lock.
func (p Pass) holding(
	ctx context.Context, do func(*host.Host, *ledger.Ledger) (*report.Plan, error),
) (*report.Plan, error) {
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
	p.API.Met(h.Live.Facts)
	// Before an undo, which clears up what is staged.
	RecoverFirst(ctx, p.Log, h.Files.Recover)
	if err := p.finishUndo(ctx, h, led); err != nil {
		return nil, err
	}
	if err := p.firstBoot(ctx, h, led); err != nil {
		return nil, err
	}
	out, err := do(h, led)
	history.Recall(out, h.Live.Files, led)
	p.Hooks.enter("record")
	if err := h.LearnVersions(ctx); err != nil && p.Log != nil {
		p.Log.Warn("a program's version stays unknown", zap.Error(err))
	}
	h.Files.SettleStamps()
	return out, errors.Join(err, led.SaveOwed(ctx, h.Files), led.SaveStamps(ctx, h.Files))
}

// Recover completes files that belong together and that a killed run left partly old and partly
// new. It needs neither store nor documents, and comes first: at the start of the agent, and at the
// boot before anybody reads the files. Where there is nothing to complete it looks at one directory
// and takes no lock. The number is that of the sets completed.
func (p Pass) Recover(ctx context.Context) (int, error) {
	files, err := host.OpenFiles(p.Host)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", p.Host.Root, err)
	}
	list, err := hostfs.Interrupted(files)
	if len(list) > 0 { // a later version may want something else of these files
		err = errors.Join(err, ledger.CheckFormat(files))
	}
	if err := files.Close(); err != nil {
		return 0, fmt.Errorf("close %s: %w", p.Host.Root, err)
	}
	if err != nil || len(list) == 0 {
		return 0, err
	}
	unlock, err := ipc.Lock(ctx, p.Host.Files(), ledger.LockFile, nil)
	if err != nil {
		return 0, err
	}
	defer unlock()
	opt := p.Host
	opt.Log = p.Log
	h, err := host.Open(ctx, opt)
	if err != nil {
		return 0, fmt.Errorf("look at the host: %w", err)
	}
	defer h.Close() // every write was synced and checked where it was made
	return h.Files.Recover(ctx)
}

// RecoverFirst is Recover for a run that goes on whatever comes of it: the tasks of the files say
// what is wrong with them.
func RecoverFirst(ctx context.Context, log *zap.Logger, recover func(context.Context) (int, error)) {
	if _, err := recover(ctx); err != nil && log != nil {
		log.Warn("what a killed run had begun is not completed", zap.Error(err))
	}
}
