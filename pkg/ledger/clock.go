package ledger

import (
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// Clock has the time of two clocks: the wall clock and the uptime.
type Clock struct {
	Now  time.Time
	Boot string
	Up   time.Duration // zero if unknown
}

// ClockOf reads the uptime, which includes suspension.
// https://www.kernel.org/doc/html/latest/filesystems/proc.html (uptime)
func ClockOf(r Reader, now time.Time) Clock {
	boot, err := host.BootID(r)
	if err != nil {
		return Clock{Now: now} // the uptime of an unknown boot says nothing
	}
	data, _ := r.ReadFile("/proc/uptime")
	seconds, _, _ := strings.Cut(string(data), " ")
	up, _ := time.ParseDuration(seconds + "s") // unknown without the file
	return Clock{now, boot, up}
}
