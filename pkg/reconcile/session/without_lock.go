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

// What the disk of a host says, for who has no lock.

// Pinned says that the node is held at a revision, so that a pass needs nothing of the store.
func (s Session) Pinned() bool {
	led, err := s.LoadLedger()
	return err == nil && led.Head().Pin != nil
}

// Applied is what the disk says of the configuration that is applied; nil: none is known.
func (s Session) Applied() *report.Generation {
	files, err := host.OpenFiles(s.Host)
	if err != nil {
		return nil
	}
	defer files.Close() // only read from
	a, _ := ledger.ReadApplied(files)
	return history.AppliedOf(a)
}

// Awaits says which change of the node awaits its confirmation; nil: none does, or it is not for
// this user to know.
func (s Session) Awaits() *report.Awaits {
	files, err := host.OpenFiles(s.Host)
	if err != nil {
		return nil
	}
	defer files.Close() // only read from
	return history.Awaits(files)
}

// MidChange says that a change of this node is under way, or awaits its confirmation.
func (s Session) MidChange() bool {
	files, err := host.OpenFiles(s.Host)
	if err != nil {
		return true
	}
	defer files.Close() // only read from
	return checkpoint.UnderWay(files)
}

// MayConfirm says whether this process may confirm the change that awaits it: it must have been
// started from a login that began after the change, for only that proves that one can still log in.
func (s Session) MayConfirm(ctx context.Context) error {
	view, err := host.OpenView(ctx, s.Host)
	if err != nil {
		return fmt.Errorf("look at the host: %w", err)
	}
	defer view.Close() // only read from
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
