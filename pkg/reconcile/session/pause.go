package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/report"
)

// Pause stops all changes of the node for a while: repairs as well as new configurations. Passes
// look and report. A pause ends by itself or by [Session.Resume]. A second pause replaces the
// first.
func (s Session) Pause(ctx context.Context, d time.Duration, reason string) (*report.Paused, error) {
	switch {
	case d <= 0 || d > MaxPause:
		return nil, fmt.Errorf("pause for %s: expected up to %s, such as 30m: a pause ends by itself; for longer "+
			"switch the agent off (touch %s)", d, MaxPause, "/etc/netwright/disabled")
	case reason == "":
		return nil, fmt.Errorf("pause for %s: give the reason with --reason, for others who find the node "+
			"paused", d)
	}
	var out *report.Paused
	_, err := s.Locked(ctx, func(h *host.Host, _ *ledger.Ledger) (*report.Plan, error) {
		now := ledger.ClockOf(h.Live.Files, time.Now().UTC())
		z := &ledger.Pause{Since: now.Now.Truncate(time.Second), For: d, Reason: reason, By: s.Maker(), Boot: now.Boot,
			Up: now.Up, Machine: host.MachineID(h.Live.Files)}
		out = pausedAs(z, now)
		if err := ledger.SavePause(ctx, h.Files, z); err != nil {
			return nil, err
		}
		s.Note(ctx, h, ledger.OperatorAction{Act: ledger.WasPaused, Text: fmt.Sprintf("for %s: %s", d, reason)})
		return nil, nil
	})
	return out, err
}

// Paused returns the pause of the node, or nil if it is not paused.
func (s Session) Paused() *report.Paused {
	files, err := host.OpenFiles(s.Host)
	if err != nil {
		return nil
	}
	defer files.Close() // it was opened for reading only
	return s.PausedBy(files)
}

// PausedBy returns the pause of the host of these files, or nil if it is not paused. If the file
// cannot be read now, the host counts as paused. If the file is damaged, it counts as not paused.
func (s Session) PausedBy(r ledger.Reader) *report.Paused {
	z, err := ledger.ReadPause(r)
	if host.Unread(err) {
		return &report.Paused{Until: time.Now().Add(unreadPause).UTC().Truncate(time.Second), By: "the agent",
			Reason: "it is not known whether the node is paused: " + err.Error()}
	}
	if err != nil && s.Log != nil {
		s.Log.Warn("it is not known whether the node is paused: the agent takes it as not paused", zap.Error(err))
	}
	if z == nil {
		return nil
	}
	now := ledger.ClockOf(r, time.Now().UTC())
	if !now.Now.Before(z.Ends(now)) {
		return nil
	}
	return pausedAs(z, now)
}

// unreadPause is how long the host counts as paused if its pause cannot be read, before the next
// look.
const unreadPause = time.Minute

func pausedAs(z *ledger.Pause, now ledger.Clock) *report.Paused {
	return &report.Paused{Until: z.Ends(now).UTC().Truncate(time.Second), Reason: z.Reason, By: z.By}
}

// Resume ends a pause and removes the pin, so that the node follows the store again from the next
// pass on. It returns what it ended, such as "held at revision 3 by root" or "paused until …", or
// "".
func (s Session) Resume(ctx context.Context) (was string, err error) {
	_, err = s.Locked(ctx, func(h *host.Host, led *ledger.Ledger) (*report.Plan, error) {
		var how []string
		if z := s.PausedBy(h.Live.Files); z != nil {
			how = append(how, z.String())
		}
		pin := led.Head().Pin
		if pin != nil {
			how = append(how, fmt.Sprintf("held at revision %d by %s", pin.Revision, pin.By))
			led.SetPin(nil)
			if err := led.SavePin(ctx, h.Files); err != nil { // first, because only this needs room on the disk
				return nil, err
			}
		}
		if err := ledger.DropPause(h.Files); err != nil {
			led.SetPin(pin)
			return nil, errors.Join(err, led.SavePin(ctx, h.Files))
		}
		if was = strings.Join(how, ", and "); was != "" {
			action := ledger.OperatorAction{Act: ledger.Resumed, Text: "the node was " + was}
			if pin != nil {
				action.Revision = pin.Revision
			}
			s.Note(ctx, h, action)
		}
		return nil, nil
	})
	return was, err
}

// PausedError is the error of a request that was refused because the node is paused.
type PausedError struct {
	report.Paused
	Ends string // the command that ends the pause
}

func (e *PausedError) Error() string {
	return fmt.Sprintf("nothing was changed: the node is %s; %s ends that", e.Paused.String(), e.Ends)
}

// Kind implements [problem.KindOf].
func (e *PausedError) Kind() problem.ID { return problem.NodePaused }

// MaxPause is the longest pause. A forgotten pause must not hold for a month.
const MaxPause = 24 * time.Hour
