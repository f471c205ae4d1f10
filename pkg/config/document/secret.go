package document

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// secretKeys are keys whose text may be a secret: the content of a file asset, the manifest of a
// hook, and a password. No field is called password, but people write it all the same, for example
// for Weave. Similar names count too, so that a typing mistake does not show the secret.
var secretKeys = []string{"content", "manifest", "password"}

// IsSecretKey reports whether the value of a key may be a secret. Such a value is never shown.
func IsSecretKey(key string) bool {
	return slices.ContainsFunc(secretKeys, func(s string) bool { return Distance(key, s) <= 2 })
}

// NotShown is shown in place of a value that may be a secret.
const NotShown = "<not shown>"

// span is a part of a document that is not shown, from its start up to its end. The end is not part
// of it.
type span struct{ from, to Pos }

func (p Pos) before(q Pos) bool { return p.Line < q.Line || p.Line == q.Line && p.Column < q.Column }

// redact returns the line at p without what may be secret, and the column of p in the result.
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

// mayBeSecret reports whether line n of a text that could not be parsed may be secret: it is at or
// after the first mention of a secret key.
func (t Lines) mayBeSecret(n int) bool {
	lines := strings.SplitAfterN(string(t), "\n", n+1)
	words := strings.FieldsFunc(strings.Join(lines[:min(n, len(lines))], ""),
		func(r rune) bool { return strings.ContainsRune(" \n\t:\"'{}[],-?&*!", r) })
	return slices.ContainsFunc(words, IsSecretKey)
}

// hiddenSpans returns the spans of the values of secret keys. Each begins after the key's colon and
// ends at the next key or list item.
func hiddenSpans(root *Value) []span {
	var starts, marks []Pos
	seen := make(map[*Value]bool)
	var walk func(v *Value)
	walk = func(v *Value) {
		if seen[v] {
			return // the target of an alias was visited already
		}
		seen[v] = true
		for _, e := range v.Entries {
			marks = append(marks, e.Pos)
			if IsSecretKey(e.Key) {
				starts = append(starts, Pos{e.Pos.Line, e.Pos.Column + e.width + 1}) // the colon is shown
				continue                                                             // the whole value is hidden
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

// MaskURLs masks what may be a credential in a URL: the user and password, and the query, which may
// be a signature. It masks character by character, so that the columns stay.
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
