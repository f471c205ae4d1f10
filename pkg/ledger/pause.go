package ledger

import (
	"context"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

const pauseFile = Dir + "/pause.json"

// Pause is a time during which the agent changes nothing on the node, because a person said so.
type Pause struct {
	Since  time.Time     `json:"since"`
	For    time.Duration `json:"for"` // nanoseconds
	Reason string        `json:"reason"`
	By     string        `json:"by"`
	// Boot and Up are the boot in which the pause began and its uptime then: a second clock, which
	// nobody sets.
	Boot string        `json:"boot,omitempty"`
	Up   time.Duration `json:"up,omitempty"`
	// Machine is the machine-id of the machine that is paused; "" from an earlier release.
	Machine string `json:"machine,omitempty"`
}

// Ends returns when the pause ends, at the latest. It uses the wall clock, and the time that has
// certainly passed since the beginning. So a clock that is set back does not make the pause longer.
// A clock that is set forward ends it early, and a person can pause again.
func (p *Pause) Ends(c Clock) time.Time {
	passed := c.Up // in another boot, all of that boot's uptime
	if c.Boot == p.Boot {
		passed = max(c.Up-p.Up, 0)
	}
	wall, sure := p.Since.Add(p.For), c.Now.Add(p.For-passed)
	if c.Up == 0 || wall.Before(sure) {
		return wall
	}
	return sure
}

// ReadPause returns nil if there is no pause, or one of another machine from whose disk this one
// boots. A damaged file is an error, and counts as no pause, so that a node is not paused for ever
// by accident.
func ReadPause(r Reader) (*Pause, error) {
	p := new(Pause)
	if err := readState(r, pauseFile, p); err != nil || p.Since.IsZero() || host.IsOtherMachine(r, p.Machine) {
		return nil, err
	}
	return p, nil
}

// SavePause replaces the pause durably.
func SavePause(ctx context.Context, w Writer, p *Pause) error { return saveState(ctx, w, pauseFile, p) }

// DropPause ends the pause. It succeeds if there is none.
func DropPause(h Host) error { return dropState(h, pauseFile) }
