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

// Until is when it is undone, by the clock on the wall, which somebody may have set since.
func (a *Awaits) Until() time.Time {
	now := time.Now()
	moved := now.Sub(a.At) - (host.Uptime() - a.Up)
	if moved.Abs() < 5*time.Second { // a moment that is the same at each look
		moved = 0
	}
	return a.At.Add(a.For + moved).Truncate(time.Second)
}

// expired says that nobody confirmed it in time.
func (a *Awaits) expired() bool { return host.Uptime() >= a.Up+a.For }

// Await has [Checkpoint.Finish] keep the change only if somebody confirms it. Called before Finish;
// of a neither Up, At nor WatchUS counts.
func (c *Checkpoint) Await(a Awaits) { c.awaits = &a }

// awaitConfirmation leaves the checkpoint as it is, for whoever confirms the change. The undo's
// time begins anew.
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

// Unconfirmed returns the journal of a change that may still be confirmed, nil if there is none: it
// was confirmed, or its undo is due, or it is still being made. The error is as of [Pending].
func Unconfirmed(r host.FileReader) (*Journal, error) {
	j, err := Pending(r)
	if err != nil || !j.mayBeConfirmed(r) {
		return nil, err
	}
	return j, nil
}

// ErrNothingAwaits says that there is no change to confirm.
var ErrNothingAwaits = errors.New("no change awaits a confirmation: `agent history` lists what was undone")

// Confirm keeps a change that awaits it, and returns its journal. The caller has the lock of a
// pass. The change is kept once the journal is gone; what stands around it the next pass takes
// away, should this one be killed or fail. Such an error comes with the journal.
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

// mayBeConfirmed says that nobody undoes the change yet.
func (j *Journal) mayBeConfirmed(r host.FileReader) bool {
	return j != nil && j.Awaits != nil && !j.Awaits.expired() && j.Boot == host.BootID(r)
}
