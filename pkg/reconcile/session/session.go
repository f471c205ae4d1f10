// Package session opens a host for who changes it: he looks at it, or has it to himself. What an
// earlier run left undone is done first, whoever comes next.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs/prefetch"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/kube/access"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
)

// Session is who does something to a host, and how.
type Session struct {
	Host       host.Options // without stamps: the ledger brings them
	Log        *zap.Logger
	Checkpoint checkpoint.Settings // how what an earlier run left is probed
	API        *access.API         // hears what the host is; nil: there is none
	By         string              // for the history; "" is the agent itself
	Progress   Progress
	Confirms   bool           // a change that awaits its confirmation is no error: it is to be confirmed
	Stamps     *ledger.Stamps // those that a store has too; nil: it loads its own
	// Cached is the ledger that an earlier session of this process left; nil: it is read. If
	// somebody wrote it since, the session ends before it changes anything, with [ErrStale].
	Cached *ledger.Cached
	// OnEnd hears of a session that ended without an error, before it gives up the lock.
	OnEnd func(*host.Host, *ledger.Ledger)
}

// ErrStale says that the ledger is not as it was cached.
var ErrStale = errors.New("somebody wrote the ledger since it was read")

// errBusy says that another run has the lock.
var errBusy = errors.New("another run goes on")

// Progress tells a caller how it goes on. Both may be nil; they must be quick.
type Progress struct {
	// OnWait hears whom the session waits for before it begins, once.
	OnWait func(who string)
	// OnPhase hears which part of a pass begins: "look", "plan", "apply", "remove", "record".
	OnPhase func(name string)
}

// Waits tells whom the session waits for.
func (p Progress) Waits(who string) {
	if p.OnWait != nil {
		p.OnWait(who)
	}
}

// Enter tells which part of a pass begins.
func (p Progress) Enter(phase string) {
	if p.OnPhase != nil {
		p.OnPhase(phase)
	}
}

// OnLock tells of another run that has the lock.
func (p Progress) OnLock() func(ipc.LockOwner) {
	if p.OnWait == nil {
		return nil
	}
	return func(who ipc.LockOwner) { p.OnWait("another run: " + who.String()) }
}

// Maker is who does it.
func (s Session) Maker() string { return cmp.Or(s.By, "agent") }

// Look opens the host for reading, with the stamps that the ledger has.
func (s Session) Look(ctx context.Context) (*ledger.Ledger, *host.Live, error) {
	led, err := s.LoadLedger()
	if err != nil {
		return nil, nil, err
	}
	opt := s.Host
	opt.Stamps, opt.FollowLinks = led, led.Head().Followed()
	view, err := host.OpenView(ctx, opt)
	if err != nil {
		return nil, nil, fmt.Errorf("look at the host: %w", err)
	}
	return led, view, nil
}

// LoadLedger reads the ledger through the root, before the host is opened with it.
func (s Session) LoadLedger() (*ledger.Ledger, error) {
	files, err := host.OpenFiles(s.Host)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.Host.Root, err)
	}
	defer files.Close() // only read from
	led := (*ledger.Ledger)(nil)
	if s.Cached != nil {
		if s.Cached.Stale(files) {
			return nil, ErrStale
		}
		return s.Cached.Ledger, ledger.CheckFormat(files)
	}
	if s.Stamps != nil {
		led = ledger.LoadWith(files, s.Stamps)
	} else {
		led = ledger.Load(files)
	}
	return led, led.Newer
}

// Action is what is done to the host by the one process that may.
type Action func(*host.Host, *ledger.Ledger) (*report.Plan, error)

// Locked does something to the host as the only one that does.
func (s Session) Locked(ctx context.Context, do Action) (*report.Plan, error) {
	return s.locked(ctx, ctx, do)
}

// Trying is [Session.Locked] for who does not wait.
func (s Session) Trying(ctx context.Context, do Action) error {
	now, stop := context.WithCancelCause(ctx)
	stop(errBusy)
	_, err := s.locked(ctx, now, do)
	return err
}

// locked waits for the lock until wait ends.
func (s Session) locked(ctx, wait context.Context, do Action) (*report.Plan, error) {
	unlock, err := ipc.Lock(wait, s.Host.Files(), ledger.LockFile, s.Progress.OnLock())
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.Holding(ctx, do)
}

// Holding is [Session.Locked] for who has the lock.
func (s Session) Holding(ctx context.Context, do Action) (*report.Plan, error) {
	s.Progress.Enter("look")
	led, err := s.LoadLedger()
	if err != nil {
		return nil, err
	}
	opt := s.Host
	opt.Stamps, opt.Log, opt.FollowLinks = led, s.Log, led.Head().Followed()
	if opt.Verify && s.Cached == nil { // most of a pass is the reading of these: it begins beside the facts
		sums, err := prefetch.Start(opt.Files(), led.Unpacked())
		if err != nil {
			return nil, fmt.Errorf("look at the host: %w", err)
		}
		defer sums.Close() // only read from
		opt.Prefetched = sums
	}
	h, err := host.Open(ctx, opt)
	if err != nil {
		return nil, fmt.Errorf("look at the host: %w", err)
	}
	defer h.Close() // every write was synced and checked where it was made
	s.API.Met(h.Live.Facts)
	// Before an undo, which clears up what is staged.
	RecoverFirst(ctx, s.Log, h.Files.Recover)
	if err := s.finishUndo(ctx, h, led); err != nil {
		return nil, err
	}
	if err := s.firstBoot(ctx, h, led); err != nil {
		return nil, err
	}
	out, err := do(h, led)
	history.Recall(out, h.Live.Files, led)
	s.Progress.Enter("record")
	if err := h.LearnVersions(ctx); err != nil && s.Log != nil {
		s.Log.Warn("a program's version stays unknown", zap.Error(err))
	}
	h.Files.RecheckRacy()
	err = errors.Join(err, led.Flush(ctx, h.Files), led.Effects.Save(ctx, h.Files), led.SaveStamps(ctx, h.Files))
	if err == nil && s.OnEnd != nil {
		s.OnEnd(h, led)
	}
	return out, err
}

// Note remembers for the history what was done, which made no revision. It comes after the action:
// where there is no room for the word, the action stands.
func (s Session) Note(ctx context.Context, h *host.Host, d ledger.OperatorAction) {
	d.Time, d.By = time.Now(), s.Maker()
	if err := ledger.NoteOperatorAction(context.WithoutCancel(ctx), h.Files, d); err != nil && s.Log != nil {
		s.Log.Warn("the history does not have it", zap.String("what", string(d.Act)), zap.Error(err))
	}
}
