package policy

import (
	"testing"
	"time"
)

// A window is open from its first moment until before its last, in its own time zone, over midnight
// and over a change of the clocks.
func TestWindow(t *testing.T) {
	const layout = "2006-01-02 15:04:05"
	nights := Window{Days: []Weekday{1, 2, 3, 4, 5}, From: 2 * 60, Until: 5 * 60, TimeZone: "Europe/Berlin"}
	late := Window{Days: []Weekday{6}, From: 22 * 60, Until: 2 * 60, TimeZone: "UTC"}
	always := Window{Until: 24 * 60, TimeZone: "UTC"}
	whole := Window{Days: []Weekday{3}, From: 6 * 60, Until: 6 * 60, TimeZone: "UTC"}
	for _, c := range []struct {
		name    string
		windows []Window
		now     string // UTC
		next    string // "": the window is open
	}{
		{"none", nil, "2026-11-22 05:00:00", ""},
		{"a Sunday", []Window{nights}, "2026-11-22 02:00:00", "2026-11-23 01:00:00"},
		{"a second before", []Window{nights}, "2026-11-23 00:59:59", "2026-11-23 01:00:00"},
		{"the first moment", []Window{nights}, "2026-11-23 01:00:00", ""},
		{"the last second", []Window{nights}, "2026-11-23 03:59:59", ""},
		{"the end", []Window{nights}, "2026-11-23 04:00:00", "2026-11-24 01:00:00"},
		{"after Friday's", []Window{nights}, "2026-11-27 04:00:00", "2026-11-30 01:00:00"},
		{"summer time", []Window{nights}, "2026-07-06 00:00:00", ""},
		{"before midnight", []Window{late}, "2026-11-28 23:59:59", ""},
		{"over midnight", []Window{late}, "2026-11-29 01:59:59", ""},
		{"Friday's midnight", []Window{late}, "2026-11-28 01:00:00", "2026-11-28 22:00:00"},
		{"after it", []Window{late}, "2026-11-29 02:00:00", "2026-12-05 22:00:00"},
		{"each day", []Window{always}, "2026-11-29 23:59:59", ""},
		{"a whole day", []Window{whole}, "2026-11-26 05:59:59", ""},
		{"the sooner of two", []Window{late, nights}, "2026-11-29 02:00:00", "2026-11-30 01:00:00"},
		{"either of two", []Window{nights, late}, "2026-11-28 22:00:00", ""},
		// Berlin goes from 02:00 to 03:00 on 2026-03-29, and from 03:00 back to 02:00 on
		// 2026-10-25.
		{"the hour that is left out", []Window{{Days: []Weekday{0}, From: 2 * 60, Until: 3 * 60, TimeZone: "Europe/Berlin"}}, "2026-03-29 01:30:00", "2026-04-05 00:00:00"},
		{"the hour that comes twice", []Window{{Days: []Weekday{0}, From: 2 * 60, Until: 3 * 60, TimeZone: "Europe/Berlin"}}, "2026-10-25 01:30:00", ""},
	} {
		now, err := time.Parse(layout, c.now)
		if err != nil {
			t.Fatal(err)
		}
		u := Update{Window: c.windows}
		from, until := u.Next(now)
		if got := from.UTC().Format(layout); from.After(now) != (c.next != "") || from.After(now) && got != c.next || !from.IsZero() && !until.After(now) {
			t.Errorf("%s: from %s until %s; want %q", c.name, got, until, c.next)
		}
	}
}

// Wherever the week begins, the next window is as long as its document says. It stays the same
// until its end, and then another one is next.
func TestTheNextWindowIsOne(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Kiritimati", "Australia/Lord_Howe"} {
		for from := Clock(0); from < 24*60; from += 97 {
			u := Update{Window: []Window{{Days: []Weekday{Weekday(from % 7)}, From: from, Until: from + 1, TimeZone: zone}}}
			for now := time.Date(2026, 3, 1, 0, 7, 0, 0, time.UTC); now.Year() == 2026; now = now.Add(41 * time.Hour) {
				begins, ends := u.Next(now)
				same, _ := u.Next(ends.Add(-time.Nanosecond))
				other, _ := u.Next(ends)
				if ends.Sub(begins) != time.Minute || !ends.After(now) || begins.Sub(now) > 9*24*time.Hour || !same.Equal(begins) || !other.After(ends) {
					t.Fatalf("%s %s from %s: it is from %s until %s, then %s, then %s", now, zone, from, begins, ends, same, other)
				}
			}
		}
	}
}
