package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/netwright/netwright/pkg/plural"
)

// StatusChange writes what happened between two statuses, one line for each event, as `agent status
// --watch` does below its table. before may be nil.
func StatusChange(w io.Writer, before, now *Status, happened []Event, missed int, opt StatusOptions) error {
	t := &text{opt: TextOptions{Color: opt.Color}}
	if missed > 0 {
		t.row("", dim, "… missed: "+plural.Of(missed, "event"))
	}
	for _, e := range happened {
		color := ""
		switch {
		case e.Kind.Warns():
			color = red
		case e.Kind == EventWaiting, e.Kind == EventPaused:
			color = yellow
		case e.Kind == EventRight, e.Kind == EventRepaired:
			color = green
		}
		t.row("", color, e.Line())
	}
	switch {
	case before == nil || before.State != now.State || before.Reason != now.Reason:
		t.line("%s %s", Stamp(now.At), t.paint(stateColor[now.State], now.Line()))
	case now.Working != nil && now.Working.Changes > 0:
		t.line("%s %s", Stamp(now.At), t.paint(dim, Line(fmt.Sprintf("%s: %s", now.Working.Activity,
			plural.Of(now.Working.Changes, "change", "changes")+" to make"))))
	}
	return writeText(w, "a change of the status", &t.b)
}

// Line returns the event on one line.
func (e Event) Line() string {
	words := []string{Stamp(e.At), string(e.Kind)}
	if e.Key != "" {
		words = append(words, e.Key+":")
	}
	return Line(strings.TrimSuffix(strings.Join(append(words, e.Text), " "), ":"))
}
