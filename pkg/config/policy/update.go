// Package policy has what documents say of updates, drift and pruning: when a node takes a change,
// whether drift is repaired, and whether unwanted keys are removed.
package policy

import (
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/problem"
)

// Update says when a node takes a changed configuration that it has fetched and verified. Until
// then the last configuration stays in force and is kept right. Update does not apply to a node
// that boots or that has no configuration yet: such a node takes what there is.
type Update struct {
	// Auto: Sets the highest class of change that a node takes without a person: live, reload or
	// restart.
	Auto string `json:"auto"`
	// Splay: Spreads changes above class live over the fleet. Each node takes them at its own
	// moment within this time, by a hash of its name.
	Splay values.Duration `json:"splay"`
	// Percent: Sets the percentage of nodes that take a change, chosen by a hash of name and
	// change. The others wait until it is raised.
	Percent int `json:"percent"`
	// Freeze: true means that no node takes a changed configuration by itself, whatever its class,
	// until it is false again.
	Freeze bool `json:"freeze,omitempty"`
	// BootUndo: Says what to do if the first boot with changed files cuts the node off. files
	// restores them. reboot also reboots once if needed. The default is files.
	BootUndo string `json:"bootUndo,omitempty"`
	// Window: Lists the times in which changes above class live may be taken. Without it, they may
	// be taken at any time.
	Window []Window `json:"window,omitempty"`
	// Watch: Sets how long the gateway and the store are watched after a hook starts or stops.
	// Three failures in a row undo the change. 0s turns this off.
	Watch values.Duration `json:"watch"`
}

// These are the values of spec.update.bootUndo. "" means files.
const (
	BootUndoFiles  = "files"
	BootUndoReboot = "reboot"
)

// These bound the splay of a fleet, and the time for which a node is watched.
const (
	maxSplay = 24 * time.Hour
	maxWatch = time.Hour
)

// Fields returns the fields of spec.update.
func (u *Update) Fields() []decode.Field {
	return []decode.Field{
		decode.Choice("auto", &u.Auto, "live", "reload", "restart").Default("reload"),
		decode.Duration("splay", (*time.Duration)(&u.Splay), 0, maxSplay).Default(10 * time.Minute),
		decode.Number("percent", &u.Percent, 0, 100).Default(100),
		decode.Bool("freeze", &u.Freeze).Newer(),
		decode.Duration("watch", (*time.Duration)(&u.Watch), 0, maxWatch).Default(5 * time.Minute).Newer(),
		decode.Choice("bootUndo", &u.BootUndo, BootUndoFiles, BootUndoReboot).Newer(),
		{Name: "window", Set: func(v decode.Reading) {
			u.Window = nil
			v.List(func(item decode.Reading) {
				w := Window{TimeZone: "UTC", Origin: item.Origin()}
				item.Mapping(w.fields())
				if item.Required("from") && item.Required("until") {
					u.Window = append(u.Window, w)
				}
			})
		}},
	}
}

// Check refuses, where documents are checked, a window that closes at the time when it opens,
// because that is a whole day.
func (u *Update) Check(r *decode.Reporter) {
	for i, w := range u.Window {
		if w.From == w.Until && r.Checks {
			r.ReportAt(w.Origin, document.Diagnostic{Severity: document.SeverityError, ID: problem.FieldValue,
				Field:    fmt.Sprintf("spec.update.window[%d]", i),
				Summary:  fmt.Sprintf("the window is from %s until %s, which is the whole day", w.From, w.Until),
				Expected: "two times that differ, or from 00:00 until 24:00"})
		}
	}
}

// Next returns the window that is open now, or the next one: its first moment, and the first moment
// after it. Both are zero if the documents have no window, so that changes are taken at any time.
func (u *Update) Next(now time.Time) (from, until time.Time) {
	for i := range u.Window {
		a, b := u.Window[i].next(now)
		if from.IsZero() || a.Before(from) {
			from, until = a, b
		}
	}
	return from, until
}
