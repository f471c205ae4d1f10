package host_test

import (
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// Ticks of several periods come together, also for a period that began before the process. Each
// tick comes after its moment and within its period.
func TestTicksOfPeriodsComeTogether(t *testing.T) {
	now := time.Now()
	for _, after := range []time.Time{now, now.Add(7*time.Second + time.Millisecond), now.Add(time.Hour), now.Add(-time.Hour)} {
		short, long := host.NextTick(after, 10*time.Second), host.NextTick(after, 30*time.Second)
		if in := short.Sub(after); in <= 0 || in > 10*time.Second {
			t.Errorf("a tick of 10s comes in %s", in)
		}
		if long.Sub(short)%(10*time.Second) != 0 || long.Before(short) {
			t.Errorf("a tick of 30s comes %s after one of 10s", long.Sub(short))
		}
	}
}

// A pause with jitter stays within its part of the pause, on both sides. The line that keeps it:
// clock.go, Jitter.
func TestJitter(t *testing.T) {
	for range 1000 {
		if d := host.Jitter(time.Minute, 0.5); d < 30*time.Second || d > 90*time.Second {
			t.Fatalf("a minute ±50 %% became %s", d)
		}
	}
}
