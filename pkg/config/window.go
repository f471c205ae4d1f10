package config

import (
	"fmt"
	"slices"
	"time"
)

// Window is a time that comes back each day, or on some days of the week.
type Window struct {
	Days     []Weekday `json:"days,omitempty"` // on which it begins; empty: each
	From     Clock     `json:"from"`
	Until    Clock     `json:"until"`    // not later than From: of the next day
	TimeZone string    `json:"timeZone"` // a name of the IANA database; default UTC
	Origin   Origin    `json:"origin"`
}

// Weekday is a day that prints as documents have it: Mon.
type Weekday time.Weekday

// Clock is a time of day in minutes after midnight. It prints as 02:00.
type Clock int

func (d Weekday) String() string { return weekdays[d] }

// MarshalText implements [encoding.TextMarshaler].
func (d Weekday) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", int(c)/60, int(c)%60) }

// MarshalText implements [encoding.TextMarshaler].
func (c Clock) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Open says whether what waits for a window may go now, and if not when the next one begins. Without any it always may.
func (u *Update) Open(now time.Time) (open bool, next time.Time) {
	if len(u.Window) == 0 {
		return true, time.Time{}
	}
	for _, w := range u.Window {
		in, begins := w.open(now)
		if in {
			return true, time.Time{}
		}
		if next.IsZero() || begins.Before(next) {
			next = begins
		}
	}
	return false, next
}

// open looks at the days around now: one that began yesterday may still be open, and within nine days each day of the week has come, also where a
// change of the clocks took a time away.
func (w *Window) open(now time.Time) (bool, time.Time) {
	zone, err := time.LoadLocation(w.TimeZone)
	if err != nil {
		zone = time.UTC // it was there when the document was read
	}
	local := now.In(zone)
	for ahead := -1; ahead <= 8; ahead++ {
		at := func(day int, c Clock) time.Time {
			return time.Date(local.Year(), local.Month(), local.Day()+day, 0, int(c), 0, 0, zone)
		}
		from, until := at(ahead, w.From), at(ahead, w.Until)
		if w.Until <= w.From {
			until = at(ahead+1, w.Until)
		}
		noon := time.Date(local.Year(), local.Month(), local.Day()+ahead, 12, 0, 0, 0, zone)
		switch {
		case len(w.Days) > 0 && !slices.Contains(w.Days, Weekday(noon.Weekday())), !now.Before(until):
		case now.Before(from):
			return false, from
		default:
			return true, time.Time{}
		}
	}
	return false, time.Time{} // no week is without the days that it names
}
