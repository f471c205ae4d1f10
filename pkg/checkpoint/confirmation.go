package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/systemd"
)

// Until returns when the change is undone, by the wall clock. Somebody may have set that clock
// since the change.
func (a *Awaits) Until() time.Time {
	now := time.Now()
	moved := now.Sub(a.At) - (host.Uptime() - a.Up)
	if moved.Abs() < 5*time.Second { // rounding: return the same time at each call
		moved = 0
	}
	return a.At.Add(a.For + moved).Truncate(time.Second)
}

// expired reports whether the time for the confirmation is over.
func (a *Awaits) expired() bool { return host.Uptime() >= a.Up+a.For }

// Await makes [Checkpoint.Finish] keep the change only until somebody confirms it or the time is
// over. The caller calls it before Finish. Finish sets Up, At and WatchUS of a.
func (c *Checkpoint) Await(a Awaits) { c.awaits = &a }

// awaitConfirmation leaves the checkpoint as it is until the change is confirmed. It starts a timer
// for the confirmation in place of the undo's timer.
func (c *Checkpoint) awaitConfirmation(ctx context.Context) error {
	j, h, a := c.journal, c.host, c.awaits
	a.Up, a.At = host.Uptime(), time.Now().UTC().Truncate(time.Second)
	a.WatchUS = c.watchUntil()
	j.Awaits = a
	err := j.write(ctx, h)
	if err == nil {
		const what = "Netwright: undo a change that nobody confirmed"
		err = h.Units.StartTimer(ctx, unconfirmedTimer, what, systemd.Undo, a.For, JournalFile, c.program, "undo")
	}
	if err == nil || errors.Is(err, host.ErrNoLiveState) {
		err = h.Units.StopTimer(ctx, TimerName)
	}
	if err != nil {
		return fmt.Errorf("have the change await its confirmation: %w", err)
	}
	c.settings.log().Warn("the change awaits its confirmation", zap.Int64("generation", j.Generation),
		zap.Time("until", a.Until()), zap.String("by", a.By))
	return nil
}

// Unconfirmed returns the journal of a change that may still be confirmed. It returns nil if the
// change was confirmed, if it is about to be undone, or if it is still in progress. Its error is
// that of [Pending].
func Unconfirmed(r host.FileReader) (*Journal, error) {
	j, err := Pending(r)
	if err != nil || !j.mayBeConfirmed(r) {
		return nil, err
	}
	return j, nil
}

// ErrNothingAwaits is the error of Confirm if no change awaits a confirmation.
var ErrNothingAwaits = errors.New("no change awaits a confirmation: `agent history` lists what was undone")

// Confirm keeps a change that awaits its confirmation, and returns its journal. The caller holds
// the lock of a pass. The change is confirmed once the journal is removed. If Confirm is killed or
// fails after that, the next pass removes the rest, and Confirm returns the journal with the error.
func Confirm(ctx context.Context, h *host.Host) (*Journal, error) {
	j, err := Unconfirmed(h.Live.Files)
	if err != nil {
		return nil, err
	}
	if j == nil {
		return nil, ErrNothingAwaits
	}
	err = j.confirm(ctx, h, j.Awaits.WatchUS, "", zap.NewNop())
	if still, unread := Pending(h.Live.Files); still != nil || unread != nil {
		return nil, errors.Join(err, unread)
	}
	return j, err
}

// mayBeConfirmed reports whether the change may still be confirmed, and is not due to be undone.
func (j *Journal) mayBeConfirmed(r host.FileReader) bool {
	return j != nil && j.Awaits != nil && !j.Awaits.expired() && !host.IsOtherBoot(r, j.Boot)
}
