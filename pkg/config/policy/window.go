package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
	// A node need not have zoneinfo, and a document must mean the same on each node. This package
	// adds 0.4 MB to the binary and does nothing before main.
	_ "time/tzdata"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Window is a time that recurs each day, or on some days of the week.
type Window struct {
	// Days: Lists the days on which the window opens. Without it, it opens each day.
	Days []Weekday `json:"days,omitempty"`
	// From: Sets when the window opens, in its time zone.
	From Clock `json:"from"`
	// Until: Sets when the window closes. If it is not later than `from`, the window closes on the
	// next day.
	Until Clock `json:"until"`
	// TimeZone: Sets the time zone by its name in the IANA database, such as Europe/Berlin. The
	// default is UTC.
	TimeZone string          `json:"timeZone"`
	Origin   document.Origin `json:"origin"`
}

// Weekday is a day that prints as in documents: Mon.
type Weekday time.Weekday

// Clock is a time of day in minutes after midnight. It prints as 02:00.
type Clock int

func (d Weekday) String() string { return weekdays[d] }

// MarshalText implements [encoding.TextMarshaler].
func (d Weekday) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", int(c)/60, int(c)%60) }

// MarshalText implements [encoding.TextMarshaler].
func (c Clock) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// next searches the days around now. A window that began yesterday may still be open. Within nine
// days each day of the week occurs, even if a change of the clocks removes one window.
func (w *Window) next(now time.Time) (from, until time.Time) {
	zone, err := time.LoadLocation(w.TimeZone)
	if err != nil {
		zone = time.UTC // the zone existed when the document was read
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
		if named := Weekday(at(day, 12*60).Weekday()); until.After(now) && until.After(from) &&
			(len(w.Days) == 0 || slices.Contains(w.Days, named)) {
			return from, until
		}
	}
	return from, until // not reached: each week has the named days
}

func (w *Window) fields() []decode.Field {
	return []decode.Field{
		{Name: "days", Set: weekDays(&w.Days)},
		timeOfDay("from", &w.From, 24*60-1, "a time of day from 00:00 to 23:59"),
		timeOfDay("until", &w.Until, 24*60, "a time of day from 00:00 to 24:00"),
		decode.Text("timeZone", &w.TimeZone, validTimeZone),
	}
}

// weekdays are the names of [time.Weekday] in documents.
var weekdays = [...]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

// weekDays reads names of days and ranges of days, "Mon-Fri" or "Sat-Mon".
func weekDays(to *[]Weekday) decode.Set {
	return func(v decode.Reading) {
		var named [7]bool
		v.List(func(item decode.Reading) {
			if item.Kind != document.KindString {
				item.WrongKind("a string: a day or a range of days")
				return
			}
			first, last, isRange := strings.Cut(item.Text, "-")
			if !isRange {
				last = first
			}
			from, to := slices.Index(weekdays[:], first), slices.Index(weekdays[:], last)
			if from < 0 || to < 0 {
				hint := ""
				if from < 0 && !isRange {
					hint = document.DidYouMean(first, weekdays[:])
				}
				item.Bad("a day (Mon, Tue, Wed, Thu, Fri, Sat, Sun) or a range of days such as Mon-Fri", hint)
				return
			}
			for day := from; ; day = (day + 1) % 7 {
				named[day] = true
				if day == to {
					return
				}
			}
		})
		*to = nil
		for i := range named {
			if day := (i + 1) % 7; named[day] { // a week begins on Monday
				*to = append(*to, Weekday(day))
			}
		}
		if v.Kind == document.KindList && len(v.Items) == 0 {
			v.Bad("at least one day", "take the line out for every day")
		}
	}
}

// timeOfDay reads a time of day.
func timeOfDay(name string, to *Clock, most Clock, expected string) decode.Field {
	return decode.Field{Name: name, Set: func(v decode.Reading) {
		var h, m int
		if v.Kind != document.KindString {
			v.WrongKind("a string: " + expected)
			return
		}
		n, err := fmt.Sscanf(v.Text, "%2d:%2d", &h, &m)
		c := Clock(h*60 + m)
		if n != 2 || err != nil || m > 59 || h < 0 || m < 0 || c > most || c.String() != v.Text {
			v.Bad(expected, "")
			return
		}
		*to = c
	}}
}

func validTimeZone(s string) string {
	const expected = "a time zone such as UTC or Europe/Berlin"
	if s == "" || s == "Local" {
		return expected
	}
	if _, err := time.LoadLocation(s); err != nil {
		return expected
	}
	return ""
}
