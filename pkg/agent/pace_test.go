package agent

import (
	"testing"
	"time"
)

// Whoever has not done anything for long does it at once, some times; then the pauses come. A storm is bounded by them, and who rests gets the burst back.
func TestPace(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := pace{burst: 3, every: time.Second, now: func() time.Time { return now }}
	spend := func(want time.Duration) {
		t.Helper()
		if got := p.pause(); got != want {
			t.Errorf("pause of %s, want %s", got, want)
		}
		now = now.Add(p.pause())
		p.spend()
	}
	for _, want := range []time.Duration{0, 0, 0, time.Second, time.Second} {
		spend(want)
	}
	now = now.Add(500 * time.Millisecond)
	spend(500 * time.Millisecond)
	now = now.Add(time.Minute)
	for _, want := range []time.Duration{0, 0, 0, time.Second} {
		spend(want)
	}
}
