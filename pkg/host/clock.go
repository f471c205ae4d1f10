package host

import (
	"context"
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Sleep waits for d. It returns false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool { return sys.Sleep(ctx, d) }

// Pause waits for less than a millisecond, with the precision of the kernel. In an idle process,
// Go's timers fire up to a millisecond late, because Go's poller counts in milliseconds
// (runtime/netpoll_epoll.go).
func Pause(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&left, &left) == unix.EINTR { // signals of the Go runtime
	}
}

// Jitter returns a duration that differs from d by up to this part of it, so that the nodes of a
// fleet do not act at the same time.
func Jitter(d time.Duration, part float64) time.Duration {
	return time.Duration(float64(d) * (1 - part + 2*part*rand.Float64()))
}

// started is when this process started.
var started = time.Now()

// NextTick returns the first moment after the given one that is a whole number of periods after the
// start of this process. Periodic looks wait for ticks, so that an idle process wakes once for all
// of them: to wake up costs as much as a look.
func NextTick(after time.Time, every time.Duration) time.Time {
	since := after.Sub(started) % every
	return after.Add(every - (since+every)%every)
}

// Uptime returns the time since the boot, including suspend. No program can set this clock.
func Uptime() time.Duration { return sys.Uptime() }
