package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/reconcile/revert"
	"github.com/netwright/netwright/pkg/report"
)

// Undo takes back a change that was not confirmed, and returns what became of it. If there is no
// such change, it does nothing and returns nil. The timer, the boot and a person call it, each in a
// process of its own. With watches it watches a change that passed its probes, and takes it back if
// the change still cuts the node off.
func (s Session) Undo(ctx context.Context, watches bool) (*checkpoint.Verdict, error) {
	opt := s.Host
	opt.Log = s.Log
	h, err := host.Open(ctx, opt)
	if err != nil {
		return nil, fmt.Errorf("look at the host: %w", err)
	}
	defer h.Close() // each write was synced and checked when it was made
	settings := s.Checkpoint
	settings.Log, settings.Record = s.Log, revert.Recorder(nil)
	settings.Lock = func(ctx context.Context) (func(), error) {
		unlock, err := ipc.Lock(ctx, s.Host.Files(), ledger.LockFile, nil)
		if err == nil {
			RecoverFirst(ctx, s.Log, h.Files.Recover)
		}
		return unlock, err
	}
	if watches {
		return nil, checkpoint.Watch(ctx, h, settings)
	}
	return checkpoint.Undo(ctx, h, settings)
}

// CheckUndo returns an error if Undo could not read what it would take back. It changes nothing and
// takes no lock.
func (s Session) CheckUndo() error {
	files, err := host.OpenFiles(s.Host)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.Host.Root, err)
	}
	defer files.Close() // it was opened for reading only
	return checkpoint.CheckUndo(files)
}

// PendingUndo returns the notes of a dry run about a change that was not confirmed. A change that
// cannot be taken back stops every pass, so it is an error here too. If the user may not read the
// journal, PendingUndo returns a warning.
func (s Session) PendingUndo(r host.FileReader) ([]report.Note, error) {
	due := checkpoint.Pending
	if !s.Host.Running() { // as in finishUndo
		due = checkpoint.Unconfirmed
	}
	j, err := due(r)
	if errors.Is(err, fs.ErrPermission) {
		return []report.Note{report.Warning(err.Error())}, nil
	}
	if j == nil || err != nil {
		return nil, err
	}
	if a := history.Awaits(r); a != nil {
		return []report.Note{report.Warning(a.String() + ": the agent changes nothing until then")}, nil
	}
	return []report.Note{report.Warning("a change of " + generation.Name(j.Generation, j.Digest) + " was not confirmed: " +
		"the next pass takes it back before anything else, or its own process confirms it")}, nil
}

// finishUndo undoes at once what a run left that ended during its checkpoint, without waiting for
// the timer. A change that may still be confirmed stays. It then returns an [AwaitsError], so that
// nothing else is changed meanwhile. The caller has the lock.
func (s Session) finishUndo(ctx context.Context, h *host.Host, led *ledger.Ledger) error {
	settings := s.Checkpoint
	settings.Log, settings.Record = s.Log, revert.Recorder(led)
	undo := checkpoint.UndoUnconfirmed
	if !s.Host.Running() {
		undo = func(context.Context, *host.Host, checkpoint.Settings) (*checkpoint.Journal, error) {
			return checkpoint.Unconfirmed(h.Live.Files)
		}
	}
	j, err := undo(ctx, h, settings)
	if err != nil || j == nil || s.Confirms {
		return err
	}
	return &AwaitsError{*history.AwaitsOf(j)}
}

// AwaitsError is the error of a request that was refused because a change awaits its confirmation.
type AwaitsError struct{ report.Awaits }

func (e *AwaitsError) Error() string {
	return "nothing was changed: " + e.String() + "; " +
		"`agent confirm` in a new login keeps it, and `agent undo` takes it back now"
}

// Kind implements [problem.KindOf].
func (e *AwaitsError) Kind() problem.ID { return problem.ChangeUnconfirmed }

// LogInAnew tells the user what to do about a change that awaits its confirmation.
const LogInAnew = "log in anew, by ssh or at the console, and run `agent confirm` there"
