package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
)

// These methods read the host's disk without the lock.

// Pinned reports whether the node is pinned to a revision, so that a pass needs nothing from the
// store.
func (s Session) Pinned() bool {
	led, err := s.LoadLedger()
	return err == nil && led.Head().Pin != nil
}

// Applied returns the configuration that the disk says is applied, or nil if none is known.
func (s Session) Applied() *report.Generation {
	files, err := host.OpenFiles(s.Host)
	if err != nil {
		return nil
	}
	defer files.Close() // it was opened for reading only
	a, _ := ledger.ReadApplied(files)
	return history.AppliedOf(a)
}

// Awaits returns the change that awaits its confirmation. It returns nil if there is none, or if
// this user may not read about it.
func (s Session) Awaits() *report.Awaits {
	files, err := host.OpenFiles(s.Host)
	if err != nil {
		return nil
	}
	defer files.Close() // it was opened for reading only
	return history.Awaits(files)
}

// MidChange reports whether a change of this node is in progress or awaits its confirmation.
func (s Session) MidChange() bool {
	files, err := host.OpenFiles(s.Host)
	if err != nil {
		return true
	}
	defer files.Close() // it was opened for reading only
	return checkpoint.UnderWay(files)
}

// MayConfirm returns an error if this process may not confirm the change that awaits its
// confirmation. The process must belong to a login that began after the change, because only such a
// login proves that a user can still log in.
func (s Session) MayConfirm(ctx context.Context) error {
	view, err := host.OpenView(ctx, s.Host)
	if err != nil {
		return fmt.Errorf("look at the host: %w", err)
	}
	defer view.Close() // it was opened for reading only
	j, err := checkpoint.Unconfirmed(view.Files)
	if err != nil {
		return err
	}
	if j == nil {
		return checkpoint.ErrNothingAwaits
	}
	login, err := host.LoginOf(ctx, view.View(), os.Getpid())
	if errors.Is(err, host.ErrNoLogin) {
		return fmt.Errorf("confirm only from a login: %w; %s", err, LogInAnew)
	}
	if err != nil {
		return err
	}
	if login.Began > j.Awaits.Up {
		return nil
	}
	before := (j.Awaits.Up - login.Began).Round(time.Second)
	return fmt.Errorf("this login (%s) began %s before the change was made, so it does not prove "+
		"that one can still log in: open a new ssh session, or one at the console, and run "+
		"`agent confirm` there before %s", login.Name, before, report.Stamp(j.Awaits.Until()))
}
