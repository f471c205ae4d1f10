// Package session opens a host: to look at it, or to change it under the lock. Whoever changes the
// host next first completes or undoes what an earlier run left unfinished.
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

// Session says who works on a host, and how.
type Session struct {
	Host       host.Options // without stamps, which come from the ledger
	Log        *zap.Logger
	Checkpoint checkpoint.Settings // how an unfinished change of an earlier run is probed
	API        *access.API         // receives the facts of the host; nil: there is none
	By         string              // who works on the host, for the history; "": the agent itself
	Progress   Progress
	Confirms   bool           // a change that awaits its confirmation is no error, because the session confirms it
	Stamps     *ledger.Stamps // the stamps that a store uses too; nil: the session loads its own
	// Cached is the ledger that an earlier session of this process left; nil: the session reads it.
	// If another process has written the ledger since, the session ends with [ErrStale] before it
	// changes anything.
	Cached *ledger.Cached
	// OnEnd is called after a session that ended without an error, before it releases the lock.
	OnEnd func(*host.Host, *ledger.Ledger)
}

// ErrStale says that the ledger changed after it was cached.
var ErrStale = errors.New("somebody wrote the ledger since it was read")

// errBusy says that another run has the lock.
var errBusy = errors.New("another run goes on")

// Progress tells the caller about the progress of a session. Both may be nil, and both must return
// quickly.
type Progress struct {
	// OnWait receives once, before the session begins, what the session waits for.
	OnWait func(who string)
	// OnPhase receives the name of each part of a pass that begins: "look", "plan", "apply",
	// "remove", "settle", [Prove], "record".
	OnPhase func(name string)
}

// Prove is the phase of a pass in which its checkpoint probes what the pass changed. Until it ends
// nothing else is changed or repaired.
const Prove = "prove"

// Waits tells the caller what the session waits for.
func (p Progress) Waits(who string) {
	if p.OnWait != nil {
		p.OnWait(who)
	}
}

// Enter tells the caller which part of a pass begins.
func (p Progress) Enter(phase string) {
	if p.OnPhase != nil {
		p.OnPhase(phase)
	}
}

// OnLock returns a function that tells the caller which run has the lock, or nil.
func (p Progress) OnLock() func(ipc.LockOwner) {
	if p.OnWait == nil {
		return nil
	}
	return func(who ipc.LockOwner) { p.OnWait("another run: " + who.String()) }
}

// Maker returns who works on the host.
func (s Session) Maker() string { return cmp.Or(s.By, "agent") }

// Look opens the host for reading, with the stamps from the ledger.
func (s Session) Look(ctx context.Context) (*ledger.Ledger, *host.Live, error) {
	led, err := s.LoadLedger()
	if err != nil {
		return nil, nil, err
	}
	opt := s.Host
	opt.Stamps, opt.FollowLinks, opt.ConnectSystemd = led, led.Head().Followed(), true
	view, err := host.OpenView(ctx, opt)
	if err != nil {
		return nil, nil, fmt.Errorf("look at the host: %w", err)
	}
	return led, view, nil
}

// LoadLedger reads the ledger below the root, before the host is opened with it.
func (s Session) LoadLedger() (*ledger.Ledger, error) {
	files, err := host.OpenFiles(s.Host)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.Host.Root, err)
	}
	defer files.Close() // it was opened for reading only
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

// Action is what a session does to the host under the lock.
type Action func(*host.Host, *ledger.Ledger) (*report.Plan, error)

// Locked waits for the lock, and then does the action.
func (s Session) Locked(ctx context.Context, do Action) (*report.Plan, error) {
	return s.locked(ctx, ctx, do)
}

// Trying is [Session.Locked], but fails at once if another run has the lock.
func (s Session) Trying(ctx context.Context, do Action) error {
	now, stop := context.WithCancelCause(ctx)
	stop(errBusy)
	_, err := s.locked(ctx, now, do)
	return err
}

// locked waits for the lock until wait ends, and then does the action.
func (s Session) locked(ctx, wait context.Context, do Action) (*report.Plan, error) {
	unlock, err := ipc.Lock(wait, s.Host.Files(), ledger.LockFile, s.Progress.OnLock())
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.Holding(ctx, do)
}

// Holding is [Session.Locked] for a caller that has the lock already.
func (s Session) Holding(ctx context.Context, do Action) (*report.Plan, error) {
	s.Progress.Enter("look")
	led, err := s.LoadLedger()
	if err != nil {
		return nil, err
	}
	opt := s.Host
	opt.Stamps, opt.Log, opt.FollowLinks, opt.ConnectSystemd = led, s.Log, led.Head().Followed(), true
	if opt.Verify && s.Cached == nil { // to read these files takes most of a pass, so it runs beside the facts
		sums, err := prefetch.Start(opt.Files(), led.Unpacked())
		if err != nil {
			return nil, fmt.Errorf("look at the host: %w", err)
		}
		defer sums.Close() // it was opened for reading only
		opt.Prefetched = sums
	}
	h, err := host.Open(ctx, opt)
	if err != nil {
		return nil, fmt.Errorf("look at the host: %w", err)
	}
	defer h.Close() // each write was synced and checked when it was made
	s.API.Met(h.Live.Facts)
	// This comes before an undo, which removes staged files.
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

// Note adds to the history an action that made no revision. The caller calls it after the action.
// If the note cannot be written, the action stays.
func (s Session) Note(ctx context.Context, h *host.Host, d ledger.OperatorAction) {
	d.Time, d.By = time.Now(), s.Maker()
	if err := ledger.NoteOperatorAction(context.WithoutCancel(ctx), h.Files, d); err != nil && s.Log != nil {
		s.Log.Warn("the history could not be written", zap.String("what", string(d.Act)), zap.Error(err))
	}
}
