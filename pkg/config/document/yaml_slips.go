package document

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/netwright/netwright/pkg/lazyregexp"

	"github.com/goccy/go-yaml/token"

	"github.com/netwright/netwright/pkg/problem"
)

// syntaxError reports an error of the YAML library: as a common mistake if it finds one, otherwise
// with the library's own message.
func (d *Document) syntaxError(tk *token.Token, message string) {
	p := d.Text.clamp(tokenPos(tk))
	if d.slipped(p) {
		return
	}
	d.ErrorAt(p, d.explain(p.Line, message))
}

// slipped reports a common mistake in a document that is not valid at p, in place of the error that
// it caused.
func (d *Document) slipped(p Pos) bool {
	t := d.Text
	for _, look := range []func(Pos) (Pos, Diagnostic){t.conflict, t.template, t.patch, t.blanks, t.lookalike,
		t.indentation, t.outdent} {
		if at, diag := look(p); diag.Summary != "" {
			d.ErrorAt(at, diag)
			return true
		}
	}
	return false
}

var (
	conflictMarker = lazyregexp.New(`^\s*(<{7}|>{7}|\|{7})(\s|$)`)
	conflictMiddle = lazyregexp.New(`^\s*={7}$`)
	patchLine      = lazyregexp.New(`^\+\s+\S`)
	templateSign   = lazyregexp.New(`\{\{|\{%|<%`)
)

// conflict finds the first marker of a git merge conflict. The marker in the middle counts only at
// p, because elsewhere it may be part of a text.
func (t Lines) conflict(p Pos) (Pos, Diagnostic) {
	n := 0
	for line := range strings.SplitSeq(string(t), "\n") {
		n++
		if conflictMarker().MatchString(line) || n == p.Line && conflictMiddle().MatchString(line) {
			return Pos{n, indentOf(line) + 1},
				Diagnostic{ID: problem.YAMLConflict, Summary: "a merge conflict begins here",
					Hint: "decide for one side, and take the lines of markers out"}
		}
	}
	return Pos{}, Diagnostic{}
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// template finds the first bracket of a template outside quotes and comments.
func (t Lines) template(Pos) (Pos, Diagnostic) {
	n := 0
	for line := range strings.SplitSeq(string(t), "\n") {
		n++
		found := templateSign().FindStringIndex(line)
		if found == nil {
			continue
		}
		before := line[:found[0]]
		if strings.Count(before, `"`)%2 == 0 && strings.Count(before, "'")%2 == 0 && !strings.Contains(before, "#") {
			return Pos{n, utf8.RuneCountInString(before) + 1},
				Diagnostic{ID: problem.YAMLTemplate, Summary: "this is a template, and not yet a document",
					Hint: "render it first: agents put nothing between " + line[found[0]:found[1]] +
						" and what closes it"}
		}
	}
	return Pos{}, Diagnostic{}
}

// patch finds a line that a patch adds, at p or soon after it.
func (t Lines) patch(p Pos) (Pos, Diagnostic) {
	for n := p.Line; n <= p.Line+3; n++ {
		if patchLine().MatchString(t.line(n)) {
			return Pos{n, 1}, Diagnostic{ID: problem.YAMLSyntax, Summary: "this line begins as one of a patch does",
				Hint: "apply the patch, and put the file that comes of it into the store"}
		}
	}
	return Pos{}, Diagnostic{}
}

// lookalike finds a character that looks like one of YAML's signs, outside quotes and comments, in
// the line at p or the one before it.
func (t Lines) lookalike(p Pos) (Pos, Diagnostic) {
	for n := p.Line; n >= max(1, p.Line-1); n-- {
		line := t.line(n)
		for i, r := range line {
			if like := Lookalike(r); like != "" && !strings.ContainsAny(line[:i], `"'#`) {
				return Pos{n, utf8.RuneCountInString(line[:i]) + 1},
					Diagnostic{ID: problem.YAMLSyntax, Summary: fmt.Sprintf("%U %s", r, like),
						Hint: "type the character of ASCII in its place"}
			}
		}
	}
	return Pos{}, Diagnostic{}
}

// blanks finds a character that looks like a space in the indentation of the line at p or of the
// one before it.
func (t Lines) blanks(p Pos) (Pos, Diagnostic) {
	for n := p.Line; n >= max(1, p.Line-1); n-- {
		column := 0
		for _, r := range t.line(n) {
			column++
			switch {
			case r == ' ':
				continue
			case r == '\t':
				return Pos{n, column}, Diagnostic{ID: problem.YAMLIndentation, Summary: "a tab is used for indentation",
					Expected: "spaces"}
			case r == '\ufeff' || unicode.IsSpace(r):
				return Pos{n, column}, Diagnostic{ID: problem.YAMLIndentation,
					Summary: fmt.Sprintf("%U is used for indentation: it looks like a space, but is another "+
						"character", r),
					Expected: "spaces"}
			}
			break
		}
	}
	return Pos{}, Diagnostic{}
}

// indentation finds a field that is indented further than the one above it, although that one
// already has its value on its line. YAML reads both as one text.
func (t Lines) indentation(p Pos) (Pos, Diagnostic) {
	var before, above level
	for n := max(1, p.Line-2); n <= p.Line+1; n++ {
		this := t.level(n)
		switch {
		case this.line == 0:
			continue
		case n < p.Line || this.in <= above.in || !above.valued || !this.field:
		case before.line > 0 && before.in == this.in: // the field above is not indented far enough
			return above.wrong(this.in,
				fmt.Sprintf("those in lines %d and %d in column %d", before.line, this.line, this.in+1))
		default:
			return this.wrong(above.in,
				fmt.Sprintf("the one above, which has its value already, in column %d", above.in+1))
		}
		before, above = above, this
	}
	return Pos{}, Diagnostic{}
}

// outdent finds a field that is indented less than the one above it, in a column where no open
// mapping begins.
func (t Lines) outdent(p Pos) (Pos, Diagnostic) {
	var open []int // columns from 0, the innermost last
	n := 0
	for line := range strings.SplitSeq(string(t), "\n") {
		n++
		this := levelOf(line)
		if n > p.Line || !this.field {
			continue
		}
		inner := -1
		for len(open) > 0 && open[len(open)-1] > this.in {
			open, inner = open[:len(open)-1], open[len(open)-1]
		}
		if n == p.Line && inner >= 0 && len(open) > 0 && open[len(open)-1] < this.in {
			return Pos{n, this.in + 1}, Diagnostic{ID: problem.YAMLIndentation,
				Summary: fmt.Sprintf("this line begins in column %d, and no mapping that is open here does",
					this.in+1),
				Expected: fmt.Sprintf("column %d or %d", inner+1, open[len(open)-1]+1),
				Hint:     "fields of one mapping begin in one column"}
		}
		if len(open) == 0 || open[len(open)-1] < this.in {
			open = append(open, this.in)
		}
	}
	return Pos{}, Diagnostic{}
}

// level is the indentation of a line, and whether the line has a field and that field's value.
type level struct {
	line, in      int
	field, valued bool
}

func (l level) wrong(in int, others string) (Pos, Diagnostic) {
	return Pos{l.line, l.in + 1}, Diagnostic{ID: problem.YAMLIndentation,
		Summary:  fmt.Sprintf("this line begins in column %d, and %s", l.in+1, others),
		Expected: fmt.Sprintf("column %d", in+1), Hint: "fields of one mapping begin in one column"}
}

// level returns the level of line n, or zero for a blank line or a comment.
func (t Lines) level(n int) level {
	l := levelOf(t.line(n))
	if l != (level{}) {
		l.line = n
	}
	return l
}

func levelOf(line string) level {
	text := strings.TrimLeft(line, " ")
	if text == "" || text[0] == '#' {
		return level{}
	}
	key, value, is := strings.Cut(text, ":")
	l := level{in: len(line) - len(text),
		field: is && key != "" && !strings.ContainsAny(key, " \"'{[") && (value == "" || value[0] == ' ')}
	value = strings.TrimSpace(value)
	l.valued = l.field && value != "" && !strings.ContainsAny(value[:1], "#|>&!")
	return l
}
