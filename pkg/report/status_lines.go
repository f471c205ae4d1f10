package report

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// say writes a text on as many lines as it needs. Further lines are indented below the first line's
// text.
func (t *statusText) say(indent, color, s string) {
	hang := indent
	if mark, _, found := strings.Cut(s, " "); found && utf8.RuneCountInString(mark) == 1 {
		hang += "  "
	}
	for line := range strings.Lines(s) {
		words := strings.Split(Line(strings.TrimSuffix(line, "\n")), " ")
		for _, part := range fold(words, t.width-len(hang)) {
			t.line("%s%s", indent, t.paint(color, part))
			indent = hang
		}
	}
}

// do writes what to do.
func (t *statusText) do(indent, s string) {
	if s != "" {
		t.say(indent, "", "→ "+s)
	}
}

// minWidth is the smallest width that fold uses.
const minWidth = 20

// fold joins words into lines of at most a width; a width of 0 or less means no limit. A longer
// word has its own line, so that a path can be copied.
func fold(words []string, width int) (lines []string) {
	if width <= 0 {
		return []string{strings.Join(words, " ")}
	}
	width = max(width, minWidth)
	line := ""
	for _, word := range words {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// age returns how long ago the daemon noted a time; "0s" where the clock went back.
func (t *statusText) age(at time.Time) string { return span(t.now.Sub(at)) }

// ago returns "3m ago" of a time that anybody noted, and the time itself where another clock was
// ahead, or this one was set back since.
func ago(at, now time.Time) string {
	if at.Sub(now) > clockStep {
		return "at " + Stamp(at) + ", which this clock has not reached"
	}
	return span(now.Sub(at)) + " ago"
}

// span returns a duration in its largest unit: "12s", "3m", "5h", "3d".
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// took returns a duration rounded for a person.
func took(s Seconds) string {
	switch d := s.Duration(); {
	case d < time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	default:
		return d.Round(10 * time.Millisecond).String()
	}
}

// Stamp returns a time as all texts of the agent write it, by the wall clock as it is now.
func Stamp(t time.Time) string { return ByClock(t).UTC().Format(time.RFC3339) }

type statusText struct {
	text
	width  int
	now    time.Time
	served bool   // a daemon runs
	why    string // the reason in the first lines
}

// headText is the longest text of a key that is also shown in the first line, in bytes.
const headText = 100

// above returns a text, or "as said above" for a long one that the first lines show.
func above(first, why string) string {
	if len(why) > headText && strings.Contains(first, why) {
		return "as said above"
	}
	return why
}
