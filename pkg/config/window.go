package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/config/document"
)

// Window is a time that comes back each day, or on some days of the week.
type Window struct {
	Days     []Weekday       `json:"days,omitempty"` // on which it begins; without it each day
	From     Clock           `json:"from"`           // when it opens, in the window's time zone
	Until    Clock           `json:"until"`          // when it closes; not later than `from`: on the next day
	TimeZone string          `json:"timeZone"`       // a name of the IANA database, such as Europe/Berlin; without it UTC
	Origin   document.Origin `json:"origin"`
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

// Next is the window that is open, or the next to come: its first moment, and the first that is
// after it. Both are zero where the documents know of none, and changes are taken at any time.
func (u *Update) Next(now time.Time) (from, until time.Time) {
	for i := range u.Window {
		a, b := u.Window[i].next(now)
		if from.IsZero() || a.Before(from) {
			from, until = a, b
		}
	}
	return from, until
}

// next looks at the days around now: one that began yesterday may still be open, and within nine
// days each day of the week has come, also where a change of the clocks took a time away.
func (w *Window) next(now time.Time) (from, until time.Time) {
	zone, err := time.LoadLocation(w.TimeZone)
	if err != nil {
		zone = time.UTC // it was there when the document was read
	}
	local := now.In(zone)
	at := func(day int, c Clock) time.Time {
		return time.Date(local.Year(), local.Month(), local.Day()+day, 0, int(c), 0, 0, zone)
	}
	for day := -1; day <= 8; day++ {
		from, until = at(day, w.From), at(day, w.Until)
		if w.Until <= w.From {
			until = at(day+1, w.Until)
		}
		if named := Weekday(at(day, 12*60).Weekday()); until.After(now) && until.After(from) && (len(w.Days) == 0 || slices.Contains(w.Days, named)) {
			return from, until
		}
	}
	return from, until // no week is without the days that it names
}
