package config

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"

	"github.com/netwright/netwright/pkg/problem"
)

// syntaxError reports what the YAML library stumbled over: the slip that people make most, where there is one, else its own words.
func (d *document) syntaxError(tk *token.Token, message string) {
	p := d.clamp(tokenPos(tk))
	if d.slipped(p) {
		return
	}
	diag := Diagnostic{ID: problem.YAMLSyntax, Summary: "not valid YAML: " + message}
	if strings.Contains(message, "-quoted text") {
		diag.Hint = "close the quote on this line; a text that holds a quote goes into quotes of the other kind"
	}
	if d.mayBeSecret(p.line) {
		diag.Summary = "not valid YAML" // the message may quote the text
	}
	d.errorAt(p, diag)
}

// slipped reports a slip of the pen in a document that is not valid at p, in place of what it led to.
func (d *document) slipped(p pos) bool {
	for _, look := range []func(pos) (pos, Diagnostic){d.conflict, d.template, d.blanks, d.indentation} {
		if at, diag := look(p); diag.Summary != "" {
			d.errorAt(at, diag)
			return true
		}
	}
	return false
}

// conflict finds the first marker of git's.
func (d *document) conflict(pos) (pos, Diagnostic) {
	n := 0
	for line := range strings.SplitSeq(d.text, "\n") {
		n++
		if strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") {
			return pos{n, 1}, Diagnostic{ID: problem.YAMLConflict, Summary: "a merge conflict begins here", Hint: "decide for one side, and take the lines of markers out"}
		}
	}
	return pos{}, Diagnostic{}
}

// template finds the first brackets of a template that are in no quotes and no comment.
func (d *document) template(pos) (pos, Diagnostic) {
	n := 0
	for line := range strings.SplitSeq(d.text, "\n") {
		n++
		before, _, is := strings.Cut(line, "{{")
		if is && strings.Count(before, `"`)%2 == 0 && strings.Count(before, "'")%2 == 0 && !strings.Contains(before, "#") {
			return pos{n, utf8.RuneCountInString(before) + 1}, Diagnostic{ID: problem.YAMLTemplate, Summary: "this is a template, and not yet a document",
				Hint: "render it first: agents put nothing between {{ and }}"}
		}
	}
	return pos{}, Diagnostic{}
}

// blanks finds what looks like a space in the indentation of a line, or of the one before it.
func (d *document) blanks(p pos) (pos, Diagnostic) {
	for n := p.line; n >= max(1, p.line-1); n-- {
		column := 0
		for _, r := range d.line(n) {
			column++
			switch {
			case r == ' ':
				continue
			case r == '\t':
				return pos{n, column}, Diagnostic{ID: problem.YAMLIndentation, Summary: "a tab is used for indentation", Expected: "spaces"}
			case r == '\ufeff' || unicode.IsSpace(r):
				return pos{n, column}, Diagnostic{ID: problem.YAMLIndentation, Summary: fmt.Sprintf("%U is used for indentation: it looks like a space, and is none", r), Expected: "spaces"}
			}
			break
		}
	}
	return pos{}, Diagnostic{}
}

// indentation finds a field that is further in than the one above it, which has its value on its line already: YAML takes both for one text.
func (d *document) indentation(p pos) (pos, Diagnostic) {
	var before, above level
	for n := max(1, p.line-2); n <= p.line+1; n++ {
		this := d.level(n)
		switch {
		case this.line == 0:
			continue
		case n < p.line || this.in <= above.in || !above.valued || !this.field:
		case before.line > 0 && before.in == this.in: // the one above is too far out
			return above.wrong(this.in, fmt.Sprintf("those in lines %d and %d in column %d", before.line, this.line, this.in+1))
		default:
			return this.wrong(above.in, fmt.Sprintf("the one above, which has its value already, in column %d", above.in+1))
		}
		before, above = above, this
	}
	return pos{}, Diagnostic{}
}

// level is how far in a line is, and what of a field it has.
type level struct {
	line, in      int
	field, valued bool
}

func (l level) wrong(in int, others string) (pos, Diagnostic) {
	return pos{l.line, l.in + 1}, Diagnostic{ID: problem.YAMLIndentation, Summary: fmt.Sprintf("this line begins in column %d, and %s", l.in+1, others),
		Expected: fmt.Sprintf("column %d", in+1)}
}

// level of a line; zero for one that says nothing.
func (d *document) level(n int) level {
	line := d.line(n)
	text := strings.TrimLeft(line, " ")
	if text == "" || text[0] == '#' {
		return level{}
	}
	key, value, is := strings.Cut(text, ":")
	l := level{line: n, in: len(line) - len(text), field: is && key != "" && !strings.ContainsAny(key, " \"'{[") && (value == "" || value[0] == ' ')}
	value = strings.TrimSpace(value)
	l.valued = l.field && value != "" && !strings.ContainsAny(value[:1], "#|>&!")
	return l
}
