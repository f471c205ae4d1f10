package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// TextOptions says how a plan is written for eyes.
type TextOptions struct {
	Color bool // ANSI colours: only for a terminal
	Diffs bool // unified diffs of files
	// Quiet leaves out what the plan before the run has said: the head, the
	// changes, notes. What waits, what failed and the summary stay.
	Quiet bool
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
	plain  = "\x1b[0m"
)

// Text writes a plan for eyes. A line for each change with + ~ - or ! comes
// first, in the order of the run; what needs a person comes last, next to the
// prompt: what waits, what failed with all that it holds up, what is
// interrupted, and one line that counts.
func Text(w io.Writer, p *Plan, opt TextOptions) error {
	t := &text{opt: opt}
	if !opt.Quiet {
		if !opt.NoHeader {
			t.header(p)
		}
		t.switchOf(p.Switch)
		t.changes(p)
		t.groups(p, NotHere, dim)
		t.groups(p, Ignored, dim)
		t.notes(p.Notes)
	} else {
		t.notes(opt.News)
	}
	t.waits(p)
	if len(p.AwaitingBoot) > 0 {
		t.line("awaiting boot: %s", clean(Listed(p.AwaitingBoot)))
	}
	t.groups(p, Stopped, yellow)
	t.left(p)
	t.failures(p)
	t.gap()
	t.interruptions(p)
	t.summary(p)
	if _, err := io.WriteString(w, t.b.String()); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}

type text struct {
	b   strings.Builder
	opt TextOptions
}

// mostNames is how many names a line has.
const mostNames = 8

// Listed names the first of a list, and counts the others.
func Listed(names []string) string {
	if more := len(names) - mostNames; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNames], ", "), more)
	}
	return strings.Join(names, ", ")
}

// line writes one line, without the blanks at its end that columns leave.
func (t *text) line(format string, args ...any) {
	t.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

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
	return color + s + plain
}

func (t *text) header(p *Plan) {
	if p.Network == "" && p.Store == "" { // of a reset where nothing ever was
		t.line("no revision was ever applied here")
		t.gap()
		return
	}
	who := p.Node
	if p.NodeGroup != "" {
		who += " (" + p.NodeGroup + ")"
	}
	digest := p.Digest
	if len(digest) > 12 {
		digest = digest[:12]
	}
	t.line("%s of %s, network %s", t.paint(bold, clean(who)), clean(p.Cluster), t.paint(bold, clean(p.Network)))
	t.line("%s", t.paint(dim, fmt.Sprintf("from %s, generation %d, %s", clean(p.Store), p.Generation, digest)))
	if p.Held != "" {
		t.line("%s", t.paint(yellow, clean(p.Held)+": the store is not followed before `agent resume`"))
	}
	t.gap()
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

// summary is the last line: what failed, what there is to do or was done, how far that is from all.
func (t *text) summary(p *Plan) {
	s, parts := p.Summary, []string(nil)
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(s.Failed, "failed")
	add(s.Skipped, "not reached")
	if done := work(p); done != "" {
		parts = append(parts, done)
	} else if s.Failed == 0 && s.Skipped == 0 {
		parts = append(parts, "nothing to do")
	}
	add(s.Unknown, "unknown until later")
	add(s.Waiting, "waiting")
	add(s.Contested, "contested")
	add(s.Drifted, "drifted")
	add(s.Ignored, "ignored")
	parts = append(parts, fmt.Sprintf("%d of %d right", s.Right, s.Tasks-s.NotHere))
	add(s.NotHere, "not set here")
	color := ""
	switch {
	case s.Failed > 0 || s.Skipped > 0:
		color = red
	case s.Contested > 0 || s.Drifted > 0:
		color = yellow
	case s.Changes() == 0 || ran(p):
		color = green
	}
	t.line("%s", t.paint(color, strings.Join(parts, "; ")))
}

// work counts what changes: "to do: 3 new, 1 changed", or "done: …" after a run.
func work(p *Plan) string {
	var parts []string
	for _, c := range []struct {
		n         int
		one, many string
	}{
		{p.Summary.Create, "new", "new"}, {p.Summary.Update, "changed", "changed"},
		{p.Summary.Remove, "removed", "removed"}, {p.Summary.Run, "action", "actions"},
	} {
		if c.n == 1 {
			parts = append(parts, "1 "+c.one)
		} else if c.n > 1 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.many))
		}
	}
	switch n := p.Summary.Repairs; {
	case n == 0 || len(parts) == 0:
	case n == 1:
		parts[len(parts)-1] += " (1 repair)"
	default:
		parts[len(parts)-1] += fmt.Sprintf(" (%d repairs)", n)
	}
	switch {
	case len(parts) == 0:
		return ""
	case ran(p):
		return "done: " + strings.Join(parts, ", ")
	}
	return "to do: " + strings.Join(parts, ", ")
}

// ran says that the plan tells of a run, not of what one would do.
func ran(p *Plan) bool {
	for i := range p.Steps {
		if p.Steps[i].State == Done {
			return true
		}
	}
	return false
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
