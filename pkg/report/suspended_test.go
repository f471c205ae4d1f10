package report

import (
	"testing"
	"time"

	"github.com/netwright/netwright/test/clock"
)

// While a machine is suspended, the wall clock goes on and the monotonic clock does not. A time of
// before stays as it was noted: nobody set the clock. The line that keeps it: clock.go, byClock.
func TestASuspendedMachineSetNoClock(t *testing.T) {
	noted := clock.NotedBefore(time.Now().Add(-10*time.Minute), 2*time.Hour)
	for suspended, stays := range map[time.Duration]bool{2 * time.Hour: true, 3 * time.Hour: true, 0: false, time.Hour: false} {
		if got := byClock(noted, func() time.Duration { return suspended }); got.Equal(noted.Round(0)) != stays {
			t.Errorf("suspended for %s: %s became %s, and should stay: %t", suspended, noted, got, stays)
		}
	}
}
