package ledger

import (
	"testing"
	"time"
)

// A pause ends by itself, whatever the clocks do. It does not last longer than was asked, as far as
// any clock can tell.
func TestAPauseEnds(t *testing.T) {
	const hour = time.Hour
	begun := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	p := &Pause{Since: begun, For: hour, Boot: "a", Up: 10 * hour}
	for _, c := range []struct {
		name string
		now  Clock
		left time.Duration // negative: the pause is over
	}{
		{"at once", Clock{begun, "a", 10 * hour}, hour},
		{"half of it", Clock{begun.Add(hour / 2), "a", 10*hour + hour/2}, hour / 2},
		{"at its end", Clock{begun.Add(hour), "a", 11 * hour}, 0},
		{"the clock was set back by a year", Clock{begun.AddDate(-1, 0, 0), "a", 10*hour + hour/2}, hour / 2},
		{"and it is over", Clock{begun.AddDate(-1, 0, 0), "a", 11 * hour}, 0},
		{"the clock was set ahead", Clock{begun.Add(24 * hour), "a", 10 * hour}, -23 * hour},
		{"after a boot", Clock{begun.Add(hour / 2), "b", time.Minute}, hour / 2},
		{"after a boot without a clock", Clock{time.Unix(0, 0), "b", time.Minute}, hour - time.Minute},
		{"and that boot is old", Clock{time.Unix(0, 0), "b", 2 * hour}, -hour},
		{"nothing knows the time since the boot", Clock{begun.Add(hour / 4), "", 0}, hour - hour/4},
	} {
		if got := p.Ends(c.now).Sub(c.now.Now); got != c.left {
			t.Errorf("%s: %s are left, want %s", c.name, got, c.left)
		}
	}
}

func TestClockOf(t *testing.T) {
	c := ClockOf(disk{bootIDFile: "boot-1\n", "/proc/uptime": "351735.47 1404510.16\n"}, time.Unix(1, 0))
	if c.Boot != "boot-1" || c.Up.Round(time.Second) != 351735*time.Second {
		t.Errorf("ClockOf returns %+v", c)
	}
	if c := ClockOf(disk{}, time.Unix(1, 0)); c.Boot != "" || c.Up != 0 {
		t.Errorf("of nothing: %+v", c)
	}
}
