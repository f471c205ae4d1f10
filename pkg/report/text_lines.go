package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// TextOptions says how a plan is written as text.
type TextOptions struct {
	Color bool // ANSI colours: only for a terminal
	Diffs bool // unified diffs of files
	// Brief leaves out what the plan before the run has shown: the header, the changes, the notes.
	// What waits, what failed and the summary stay.
	Brief bool
	// News are the notes that are newer than that plan. Brief does not leave them out.
	News []Note
	// NoHeader leaves out the documents and the network, for a plan that has none.
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

// writeText writes what a builder holds. An error names what it is.
func writeText(w io.Writer, what string, b *strings.Builder) error {
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// planText writes the text of a plan.
type planText struct{ text }

// mostNames is how many names a line has.
const mostNames = 8

// Listed returns the first names of a list, and the number of the others.
func Listed(names []string) string { return listed(names, mostNames) }

func listed(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// line writes one line, without trailing spaces.
func (t *text) line(format string, args ...any) {
	t.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// row writes one line in a color.
func (t *text) row(indent, color, s string) { t.line("%s", indent+t.paint(color, Line(s))) }

// gap writes an empty line before the next text.
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

// notes writes the notes of a plan.
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

// indent writes a text with its mark. Further lines of the text are indented.
func (t *text) indent(mark, s string) {
	for i, line := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
		if i > 0 {
			mark = "    "
		}
		t.line("  %s%s", mark, Line(line))
	}
}

// Visible makes the control characters of a command's output visible, except newlines and the
// agent's own colours: a store, a server or a file of another user must not write to a terminal. In
// JSON and YAML, which have no other control characters, the result has the same value.
func Visible(s string) string { return visible(s, "\n", green, yellow, red, dim, bold, reset) }

// Line makes all control characters of a text visible, newlines too, so that it is one line.
func Line(s string) string { return visible(s) }

func visible(s string, except ...string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		kept := slices.IndexFunc(except, func(e string) bool { return strings.HasPrefix(s, e) })
		switch {
		case kept >= 0:
			size = len(except[kept])
			b.WriteString(except[kept])
		case !unprintable(r):
			b.WriteRune(r)
		case r < ' ':
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[size:]
	}
	return b.String()
}

// unprintable reports runes that a terminal interprets, marks that change the direction of text,
// and bytes that are no UTF-8.
func unprintable(r rune) bool {
	return r < 0x20 && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
		r == utf8.RuneError
}
