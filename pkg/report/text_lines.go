package report

import (
	"fmt"
	"strconv"
	"strings"
)

// TextOptions says how a plan is written for eyes.
type TextOptions struct {
	Color bool // ANSI colours: only for a terminal
	Diffs bool // unified diffs of files
	// Brief leaves out what the plan before the run has said: the head, the
	// changes, notes. What waits, what failed and the summary stay.
	Brief bool
	// News are the notes that came since that plan, which Quiet does not leave out.
	News []Note
	// NoHeader leaves out which documents and which network it is about, where it is about none.
	NoHeader bool
}

const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	dim    = "\x1b[2m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

type text struct {
	b   strings.Builder
	opt TextOptions
}

// planText is the text of a plan.
type planText struct{ text }

// mostNames is how many names a line has.
const mostNames = 8

// Listed names the first of a list, and counts the others.
func Listed(names []string) string { return listed(names, mostNames) }

func listed(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// line writes one line, without the blanks at its end that columns leave.
func (t *text) line(format string, args ...any) {
	t.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// row writes one line in a color.
func (t *text) row(indent, color, s string) { t.line("%s", indent+t.paint(color, clean(s))) }

// gap separates what follows from what is there by an empty line.
func (t *text) gap() {
	if s := t.b.String(); s != "" && !strings.HasSuffix(s, "\n\n") {
		t.b.WriteString("\n")
	}
}

func (t *text) paint(color, s string) string {
	if !t.opt.Color || s == "" || color == "" {
		return s
	}
	return color + s + reset
}

// notes writes what a person should know and that is no change.
func (t *text) notes(list []Note) {
	for _, n := range list {
		color, word := dim, "note"
		switch n.Level {
		case "warning":
			color, word = yellow, "warning"
		case "error":
			color, word = red, "error"
		}
		from := ""
		if n.Origin != "" {
			from = " (" + n.Origin + ")"
		}
		t.indent(t.paint(color, word+":")+" ", n.Text+from)
	}
}

// indent writes a text of one or more lines; those after the first stand under the first's text.
func (t *text) indent(mark, s string) {
	for i, line := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
		if i > 0 {
			mark = "    "
		}
		t.line("  %s%s", mark, clean(line))
	}
}

// clean makes control characters visible: documents and files of others must
// not move the cursor of who reads their diff.
func clean(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// unprintable runes are those that a terminal acts on, and marks that turn text around.
func unprintable(r rune) bool {
	return r < 0x20 && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
