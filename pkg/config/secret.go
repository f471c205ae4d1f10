package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// secretKeys hold text that may be a secret: the content of a file asset, the manifest of a hook; a
// password, which no field takes and people write all the same, as for Weave. Names nearly like
// them count too, for a typo must not print what the right name would have kept.
var secretKeys = [...]string{"content", "manifest", "password"}

func isSecretKey(key string) bool {
	for _, s := range secretKeys {
		if distance(key, s) <= 2 {
			return true
		}
	}
	return false
}

const notShown = "<not shown>"

// span is a part of a document that is not shown: from its start up to its end, which is outside.
type span struct{ from, to pos }

func (p pos) before(q pos) bool { return p.line < q.line || p.line == q.line && p.col < q.col }

// redact returns the line at p without what may be secret, and the column of p in it.
func (d *document) redact(p pos) (string, int) {
	line := d.line(p.line)
	if d.root == nil {
		if d.mayBeSecret(p.line) {
			return notShown, 1
		}
		return line, p.col
	}
	if !d.scanned {
		d.scanned = true
		d.hidden = hiddenSpans(d.root)
	}
	runes := []rune(line)
	col := p.col
	for _, s := range d.hidden {
		if p.line < s.from.line || p.line > s.to.line {
			continue
		}
		from, to := 0, len(runes)
		if p.line == s.from.line {
			from = min(s.from.col-1, len(runes))
		}
		if p.line == s.to.line {
			to = min(s.to.col-1, len(runes))
		}
		if from >= to || strings.Trim(string(runes[from:to]), " -:,{}[]") == "" {
			continue
		}
		if to == len(runes) {
			runes = append(runes[:from:from], []rune(" "+notShown)...)
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
func (d *document) mayBeSecret(n int) bool {
	rest := d.text
	for ; n > 0; n-- {
		line, more, _ := strings.Cut(rest, "\n")
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t:\"'{}[],-?&*!", r) }) {
			if isSecretKey(word) {
				return true
			}
		}
		rest = more
	}
	return false
}

// hiddenSpans finds the values of secret keys: each reaches from the colon after its key to the
// next key or list item.
func hiddenSpans(root *value) []span {
	var starts, marks []pos
	seen := make(map[*value]bool)
	var walk func(v *value)
	walk = func(v *value) {
		if seen[v] {
			return // an alias: its place was seen
		}
		seen[v] = true
		for _, e := range v.entries {
			marks = append(marks, e.pos)
			if isSecretKey(e.key) {
				starts = append(starts, pos{e.pos.line, e.pos.col + e.width + 1}) // the colon shows
				continue                                                          // all of it, whatever it is
			}
			walk(e.value)
		}
		for _, item := range v.items {
			marks = append(marks, item.pos)
			walk(item)
		}
	}
	walk(root)
	sort.Slice(marks, func(i, j int) bool { return marks[i].before(marks[j]) })
	spans := make([]span, len(starts))
	for i, from := range starts {
		spans[i] = span{from: from, to: pos{line: 1 << 30}}
		next := sort.Search(len(marks), func(k int) bool { return from.before(marks[k]) })
		if next < len(marks) {
			spans[i].to = marks[next]
		}
	}
	return spans
}

// maskURLs covers what may be a credential in a URL, the user and password and the query (a
// presigned one), letter by letter so that columns stay.
func maskURLs(s string) string {
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

// shown is the file without the credentials of its URLs.
func (f AssetFile) shown() AssetFile {
	f.URLs = slices.Clone(f.URLs)
	for i, u := range f.URLs {
		f.URLs[i] = maskURLs(u)
	}
	return f
}

// MarshalJSON leaves the credentials of URLs out.
func (f AssetFile) MarshalJSON() ([]byte, error) {
	type plain AssetFile
	return json.Marshal(plain(f.shown()))
}

// Format implements [fmt.Formatter], for every verb: as JSON has it.
func (f AssetFile) Format(s fmt.State, _ rune) {
	shown := f.shown()
	fmt.Fprintf(s, "{%s %s}", shown.SHA256, shown.URLs)
}
