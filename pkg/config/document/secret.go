package document

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// secretKeys hold text that may be a secret: the content of a file asset, the manifest of a hook; a
// password, which no field takes and people write all the same, as for Weave. Names nearly like
// them count too, for a typo must not print what the right name would have kept.
var secretKeys = []string{"content", "manifest", "password"}

// IsSecretKey says that what stands at a key may be a secret: it is never shown.
func IsSecretKey(key string) bool {
	return slices.ContainsFunc(secretKeys, func(s string) bool { return Distance(key, s) <= 2 })
}

// NotShown stands in the place of what may be a secret.
const NotShown = "<not shown>"

// span is a part of a document that is not shown: from its start up to its end, which is outside.
type span struct{ from, to Pos }

func (p Pos) before(q Pos) bool { return p.Line < q.Line || p.Line == q.Line && p.Column < q.Column }

// redact returns the line at p without what may be secret, and the column of p in it.
func (d *Document) redact(p Pos) (string, int) {
	line := d.Text.line(p.Line)
	if d.Root == nil {
		if d.Text.mayBeSecret(p.Line) {
			return NotShown, 1
		}
		return line, p.Column
	}
	if !d.scanned {
		d.scanned = true
		d.hidden = hiddenSpans(d.Root)
	}
	runes := []rune(line)
	col := p.Column
	for _, s := range d.hidden {
		if p.Line < s.from.Line || p.Line > s.to.Line {
			continue
		}
		from, to := 0, len(runes)
		if p.Line == s.from.Line {
			from = min(s.from.Column-1, len(runes))
		}
		if p.Line == s.to.Line {
			to = min(s.to.Column-1, len(runes))
		}
		if from >= to || strings.Trim(string(runes[from:to]), " -:,{}[]") == "" {
			continue
		}
		if to == len(runes) {
			runes = append(runes[:from:from], []rune(" "+NotShown)...)
			col = min(col, from+2)
			continue
		}
		for i := from; i < to; i++ { // the rest of the line keeps its columns
			runes[i] = '*'
		}
	}
	return string(runes), col
}

// mayBeSecret judges a line of a text that did not parse: nothing is shown at or after the first
// mention of a secret key.
func (t Lines) mayBeSecret(n int) bool {
	rest := string(t)
	for ; n > 0; n-- {
		line, more, _ := strings.Cut(rest, "\n")
		if slices.ContainsFunc(strings.FieldsFunc(line,
			func(r rune) bool { return strings.ContainsRune(" \t:\"'{}[],-?&*!", r) }), IsSecretKey) {
			return true
		}
		rest = more
	}
	return false
}

// hiddenSpans finds the values of secret keys: each reaches from the colon after its key to the
// next key or list item.
func hiddenSpans(root *Value) []span {
	var starts, marks []Pos
	seen := make(map[*Value]bool)
	var walk func(v *Value)
	walk = func(v *Value) {
		if seen[v] {
			return // an alias: its place was seen
		}
		seen[v] = true
		for _, e := range v.Entries {
			marks = append(marks, e.Pos)
			if IsSecretKey(e.Key) {
				starts = append(starts, Pos{e.Pos.Line, e.Pos.Column + e.width + 1}) // the colon shows
				continue                                                             // all of it, whatever it is
			}
			walk(e.Value)
		}
		for _, item := range v.Items {
			marks = append(marks, item.Pos)
			walk(item)
		}
	}
	walk(root)
	sort.Slice(marks, func(i, j int) bool { return marks[i].before(marks[j]) })
	spans := make([]span, len(starts))
	for i, from := range starts {
		spans[i] = span{from: from, to: Pos{Line: 1 << 30}}
		next := sort.Search(len(marks), func(k int) bool { return from.before(marks[k]) })
		if next < len(marks) {
			spans[i].to = marks[next]
		}
	}
	return spans
}

// MaskURLs covers what may be a credential in a URL, the user and password and the query (a
// presigned one), letter by letter so that columns stay.
func MaskURLs(s string) string {
	cover := func(from, to int) {
		s = s[:from] + strings.Repeat("*", utf8.RuneCountInString(s[from:to])) + s[to:]
	}
	for from := 0; ; {
		i := strings.Index(s[from:], "://")
		if i < 0 {
			return s
		}
		from += i + len("://")
		if query := strings.IndexAny(s[from:], "? \t\"',]}"); query >= 0 && s[from+query] == '?' {
			end := from + query + 1 + strings.IndexAny(s[from+query+1:]+" ", " \t\"',]}")
			cover(from+query+1, end)
		}
		end := from + strings.IndexAny(s[from:]+" ", " \t\"',]}/?#")
		if at := strings.LastIndexByte(s[from:end], '@'); at > 0 {
			cover(from, from+at)
		}
	}
}
