package ledger

import (
	"context"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

const pauseFile = Dir + "/pause.json"

// Pause is a time in which nothing is changed on the node, because a person said so.
type Pause struct {
	Since  time.Time     `json:"since"`
	For    time.Duration `json:"for"` // nanoseconds
	Reason string        `json:"reason"`
	By     string        `json:"by"`
	// Boot and Up are the boot in which it began, and how long that had been up: a second clock,
	// which nobody sets.
	Boot string        `json:"boot,omitempty"`
	Up   time.Duration `json:"up,omitempty"`
	// Machine is the one that it is of; "": an earlier release did not say.
	Machine string `json:"machine,omitempty"`
}

// Clock is what two clocks say: that of the wall, and the time since the boot.
type Clock struct {
	Now  time.Time
	Boot string
	Up   time.Duration // zero: not known
}

// ClockOf reads the time since the boot.
// https://www.kernel.org/doc/html/latest/filesystems/proc.html (uptime), suspension included.
func ClockOf(r Reader, now time.Time) Clock {
	data, _ := r.ReadFile("/proc/uptime")
	seconds, _, _ := strings.Cut(string(data), " ")
	up, _ := time.ParseDuration(seconds + "s") // without the file it is not known
	return Clock{now, host.BootID(r), up}
}

// Ends is when the pause is over, at the latest: by the clock on the wall, and by the time that has
// passed for certain since it began. So a clock that is set back does not make it longer than it
// was meant to be; one that is set ahead ends it early, which a person can mend.
func (p *Pause) Ends(c Clock) time.Time {
	passed := c.Up // of another boot all of this one
	if c.Boot == p.Boot {
		passed = max(c.Up-p.Up, 0)
	}
	wall, sure := p.Since.Add(p.For), c.Now.Add(p.For-passed)
	if c.Up == 0 || wall.Before(sure) {
		return wall
	}
	return sure
}

// ReadPause returns nil where there is none, or one of another machine, from whose disk this one
// boots. A damaged file is said, and is none: a node is not left alone for ever by accident.
func ReadPause(r Reader) (*Pause, error) {
	p := new(Pause)
	if err := readState(r, pauseFile, p); err != nil || p.Since.IsZero() || host.IsOtherMachine(r, p.Machine) {
		return nil, err
	}
	return p, nil
}

// SavePause replaces it, durably.
func SavePause(ctx context.Context, w Writer, p *Pause) error { return saveState(ctx, w, pauseFile, p) }

// DropPause ends it. Where there is none that is no error.
func DropPause(h Host) error { return dropState(h, pauseFile) }
