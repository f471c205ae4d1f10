package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a node need not have zoneinfo, and a document must mean the same on each: 0.4 MB of binary, nothing before main

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

// Update says when a node takes a changed configuration that it has fetched and verified. Until
// then the last one stays in force and is kept right. It says nothing of a node that boots, or that
// has no configuration yet: those take what there is.
type Update struct {
	Auto string `json:"auto"` // the highest class of change that is taken without a person: live, reload or restart
	// Splay: spreads over the fleet what is more than live: each node takes it at its own moment
	// within that time, by a hash of its name
	Splay values.Duration `json:"splay"`
	// Percent: of the nodes take it, chosen by a hash of name and change; the others wait until it
	// is raised
	Percent int `json:"percent"`
	// Freeze: no node takes a changed configuration by itself, whatever its class, until it is
	// false again
	Freeze bool `json:"freeze,omitempty"`
	// BootUndo: when the first boot with changed files cuts the node off: bring them back (files),
	// or reboot once as well if that does not help (reboot)
	BootUndo string   `json:"bootUndo,omitempty"`
	Window   []Window `json:"window,omitempty"` // when what is more than live may be taken; without it at any time
	// Watch: how long the gateway and the store are watched after a hook was started or stopped;
	// lost three times in a row, the change is undone; 0s is not at all
	Watch values.Duration `json:"watch"`
}

// What spec.update.bootUndo may be. "" is files.
const (
	BootUndoFiles  = "files"
	BootUndoReboot = "reboot"
)

// The defaults of [Update], and how far a fleet may be spread.
const (
	defaultAuto    = "reload"
	defaultSplay   = 10 * time.Minute
	defaultPercent = 100
	maxSplay       = 24 * time.Hour
	defaultWatch   = 5 * time.Minute
	maxWatch       = time.Hour
)

func (u *Update) fields() []decode.Field {
	return []decode.Field{
		{Name: "auto", Set: decode.Choice(&u.Auto, "live", "reload", "restart")},
		{Name: "splay", Set: decode.Duration((*time.Duration)(&u.Splay), 0, maxSplay)},
		{Name: "percent", Set: decode.Number(&u.Percent, 0, 100)},
		{Name: "freeze", Set: decode.Bool(&u.Freeze), Newer: true},
		{Name: "watch", Set: decode.Duration((*time.Duration)(&u.Watch), 0, maxWatch), Newer: true},
		{Name: "bootUndo", Set: decode.Choice(&u.BootUndo, BootUndoFiles, BootUndoReboot), Newer: true},
		{Name: "window", Set: func(d *decode.Decoder, v *document.Value, at string) {
			u.Window = nil
			decode.List(func(d *decode.Decoder, v *document.Value, item string) {
				w := Window{TimeZone: "UTC", Origin: d.Doc.Origin(v.Pos)}
				d.Mapping(v, item, w.fields())
				if d.Required(v, item, "from") && d.Required(v, item, "until") {
					u.Window = append(u.Window, w)
				}
			})(d, v, at)
		}},
	}
}

func (w *Window) fields() []decode.Field {
	return []decode.Field{
		{Name: "days", Set: weekDays(&w.Days)},
		{Name: "from", Set: timeOfDay(&w.From, 24*60-1, "a time of day from 00:00 to 23:59")},
		{Name: "until", Set: timeOfDay(&w.Until, 24*60, "a time of day from 00:00 to 24:00")},
		{Name: "timeZone", Set: decode.Text(&w.TimeZone, validTimeZone)},
	}
}

// weekdays are the names of [time.Weekday], as documents have them.
var weekdays = [...]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

// days takes names of days and ranges of them, "Mon-Fri" or "Sat-Mon".
func weekDays(to *[]Weekday) decode.Set {
	return func(d *decode.Decoder, v *document.Value, at string) {
		var named [7]bool
		decode.List(func(d *decode.Decoder, v *document.Value, at string) {
			if v.Kind != document.KindString {
				d.WrongKind(v, at, "a string: a day or a range of days")
				return
			}
			first, last, isRange := strings.Cut(v.Text, "-")
			if !isRange {
				last = first
			}
			from, to := slices.Index(weekdays[:], first), slices.Index(weekdays[:], last)
			if from < 0 || to < 0 {
				hint := ""
				if near := document.Nearest(first, weekdays[:]); from < 0 && near != "" && !isRange {
					hint = fmt.Sprintf("did you mean %q?", near)
				}
				d.Bad(v, at, "a day (Mon, Tue, Wed, Thu, Fri, Sat, Sun) or a range of days such as Mon-Fri", hint)
				return
			}
			for day := from; ; day = (day + 1) % 7 {
				named[day] = true
				if day == to {
					return
				}
			}
		})(d, v, at)
		*to = nil
		for i := range named {
			if day := (i + 1) % 7; named[day] { // a week begins on Monday
				*to = append(*to, Weekday(day))
			}
		}
		if v.Kind == document.KindList && len(v.Items) == 0 {
			d.Bad(v, at, "at least one day", "take the line out for every day")
		}
	}
}

// clock takes a time of day.
func timeOfDay(to *Clock, most Clock, expected string) decode.Set {
	return func(d *decode.Decoder, v *document.Value, at string) {
		var h, m int
		if v.Kind != document.KindString {
			d.WrongKind(v, at, "a string: "+expected)
			return
		}
		n, err := fmt.Sscanf(v.Text, "%2d:%2d", &h, &m)
		c := Clock(h*60 + m)
		if n != 2 || err != nil || m > 59 || h < 0 || m < 0 || c > most || c.String() != v.Text {
			d.Bad(v, at, expected, "")
			return
		}
		*to = c
	}
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
