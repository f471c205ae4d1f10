package daemon

import (
	"testing"
	"time"
)

// A daemon that has used little CPU for long starts passes at once, as often as the burst allows.
// Then pauses come that depend on the work. They bound the CPU in a storm. After a rest the whole
// burst is available again.
func TestPace(t *testing.T) {
	now, used := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 40*time.Minute
	p := cpuBudget{burst: 3 * time.Second, share: 5, now: func() time.Time { return now }, used: func() time.Duration { return used }}
	work := func(cost, took, want time.Duration) {
		t.Helper()
		if got := p.pause(); got != want {
			t.Errorf("pause of %s, want %s", got, want)
		}
		now = now.Add(p.pause())
		spend := p.begin()
		used, now = used+cost, now.Add(took)
		spend()
	}
	for _, want := range []time.Duration{0, 0, 0, 0, 5 * time.Second, 5 * time.Second} {
		work(time.Second, 0, want)
	}
	used += time.Minute // time that other parts of the process use does not count
	work(100*time.Millisecond, time.Second, 5*time.Second)
	work(100*time.Millisecond, 0, 0) // its wait was longer than its work
	now = now.Add(time.Hour)
	for _, want := range []time.Duration{0, 0, 0, 0, 5 * time.Second} {
		work(time.Second, 0, want)
	}
	work(time.Minute, 0, 5*time.Second)
	work(0, 0, longestPause) // the pause has a limit
}
