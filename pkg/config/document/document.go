// Package document reads one YAML document into a tree of values, each with its place, and writes
// down what is wrong with it: a [Diagnostic] with the line and a caret, without what may be secret.
// It knows no field of ours. pkg/config decodes the tree.
package document

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/netwright/netwright/pkg/problem"
)

// Bounds of one document. No document of ours comes near them; they keep a broken or hostile one
// from eating the node: the YAML library recurses once per key of a mapping and is quadratic in the
// blank lines that end a block.
const (
	MaxBytes      = 4 << 20
	maxDepth      = 32
	maxEntries    = 10_000 // of one list
	maxFields     = 1_000  // of one mapping
	maxBlankLines = 200    // in a row
	maxValues     = 100_000
	maxIndicators = 80_000 // of YAML, where the YAML library reads: it takes 450 bytes to 1 kB for each
)

// Pos is a place in a document: line and column from 1, the column in characters.
type Pos struct{ Line, Column int }

// Document is one source on its way: checked bytes, tree, and the diagnostics about it.
type Document struct {
	Path       string
	Text       Lines
	Root       *Value // nil until parsed, or when it cannot be
	parsed     bool
	Errors     int    // counted also when the diagnostic is one we have
	hidden     []span // what must not be shown; filled at the first diagnostic
	scanned    bool
	MayBeEmpty bool // nothing but comments is a document too
	Diags      Diagnostics
}

// Lines are the text of a document: UTF-8, line ends \n, no byte order mark.
type Lines string

// New is a source on its way: nothing of it is read before [Document.Parse].
func New(s Source) *Document {
	return &Document{Path: s.Path, Text: Lines(s.Data)}
}

// prepare checks the bytes and normalises line ends. It reports whether the text can be given to
// the parser.
func (d *Document) prepare() bool {
	text := string(d.Text)
	if len(text) > MaxBytes {
		d.Text = d.Text[:min(strings.IndexByte(text+"\n", '\n'), 200)]
		d.ErrorAt(Pos{1, 1},
			Diagnostic{ID: problem.DocumentBounds, Summary: fmt.Sprintf("the document is too big: %d bytes", len(text)),
				Expected: fmt.Sprintf("at most %d bytes", MaxBytes),
				Hint:     "big files belong in assets, which are fetched and checked by hash"})
		return false
	}
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		d.Text = ""
		d.ErrorAt(Pos{1, 1}, Diagnostic{ID: problem.DocumentEncoding, Summary: "the document is UTF-16",
			Expected: "UTF-8", Hint: "save it as UTF-8"})
		return false
	}
	text = strings.TrimPrefix(text, "\ufeff")
	text = LineEnds(text)
	d.Text = Lines(text)
	if i := badByte(text); i >= 0 {
		summary := fmt.Sprintf("the document holds a control character (0x%02x)", text[i])
		if r, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
			summary = fmt.Sprintf("the document is not UTF-8: byte 0x%02x", text[i])
		}
		d.ErrorAt(d.Text.position(i), Diagnostic{ID: problem.DocumentEncoding, Summary: summary, Expected: "text in UTF-8",
			Hint: "type the character anew, or take it out; binary content goes in as base64 (isBase64: true)"})
		return false
	}
	return d.checkBlankLines()
}

// LineEnds is a text with the line ends of Unix in the place of others that YAML knows.
func LineEnds(text string) string {
	if strings.IndexByte(text, '\r') < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

// badByte is the index of the first byte that no YAML text may hold; -1 when there is none.
func badByte(s string) int {
	if !utf8.ValidString(s) {
		for i := 0; i < len(s); {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				return i
			}
			i += size
		}
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\t' && c != '\n' || c == 0x7f {
			return i
		}
	}
	return -1
}

func (d *Document) checkBlankLines() bool {
	run, line := 0, 0
	for rest, more := string(d.Text), true; more; {
		var this string
		this, rest, more = strings.Cut(rest, "\n")
		line++
		if strings.TrimLeft(this, " \t") != "" {
			run = 0
			continue
		}
		if run++; run > maxBlankLines {
			d.ErrorAt(Pos{line, 1}, Diagnostic{ID: problem.DocumentBounds,
				Summary: fmt.Sprintf("more than %d blank lines in a row", maxBlankLines),
				Hint:    "take them out; a file that needs them goes in as base64 (isBase64: true)"})
			return false
		}
	}
	return true
}

// checkIndicators counts what may begin a token: the library keeps all tokens before we see the
// first.
func (d *Document) checkIndicators() bool {
	signs := 0
	for i := range len(d.Text) {
		switch d.Text[i] {
		case '-':
			if i+1 < len(d.Text) && strings.IndexByte(" \t\n", d.Text[i+1]) < 0 {
				continue
			}
		case '\n', ',', ':', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', '#', '?':
		default:
			continue
		}
		if signs++; signs > maxIndicators {
			d.ErrorAt(d.Text.position(i), Diagnostic{ID: problem.DocumentBounds,
				Summary: fmt.Sprintf("more than %d lines and signs of YAML", maxIndicators),
				Hint: "big files belong in assets; plain YAML without anchors, escapes and folded text may be " +
					"longer"})
			return false
		}
	}
	return true
}

// position turns a byte offset into line and column.
func (t Lines) position(offset int) Pos {
	before := string(t[:offset])
	start := strings.LastIndexByte(before, '\n') + 1
	return Pos{strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1}
}

// line is the text of line n, from 1; "" when there is no such line.
func (t Lines) line(n int) string {
	rest := string(t)
	for ; n > 1; n-- {
		i := strings.IndexByte(rest, '\n')
		if i < 0 {
			return ""
		}
		rest = rest[i+1:]
	}
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// LinePos is where line n, from 0, of a literal block begins; of any other text it is where the
// text begins.
func (d *Document) LinePos(v *Value, n int) Pos {
	header := []rune(d.Text.line(v.Pos.Line))
	if i := v.Pos.Column - 1; i >= len(header) || header[i] != '|' {
		return v.Pos
	}
	n += v.Pos.Line + 1
	return Pos{n, indentOf(d.Text.line(n)) + 1}
}

// clamp keeps a position of the YAML library inside the text.
func (t Lines) clamp(p Pos) Pos {
	last := strings.Count(string(t), "\n") + 1
	p.Line = min(max(p.Line, 1), last)
	p.Column = min(max(p.Column, 1), utf8.RuneCountInString(t.line(p.Line))+1)
	return p
}

// Origin of a place in this document.
func (d *Document) Origin(p Pos) Origin { return Origin{File: d.Path, Line: p.Line, Column: p.Column} }

// ErrorAt adds an error, whose place, line and caret it completes.
func (d *Document) ErrorAt(p Pos, diag Diagnostic) {
	diag.Severity = SeverityError
	d.Errors++
	d.ReportAt(p, diag)
}

// WarnAt is [Document.ErrorAt] for a warning.
func (d *Document) WarnAt(p Pos, diag Diagnostic) {
	diag.Severity = SeverityWarning
	d.ReportAt(p, diag)
}

// MaxDiagnostics of one document: enough to mend it, few enough to read.
const MaxDiagnostics = 100

// ReportAt completes a diagnostic with place, line and caret, and keeps it.
func (d *Document) ReportAt(p Pos, diag Diagnostic) {
	if len(d.Diags) >= MaxDiagnostics {
		return
	}
	p = d.Text.clamp(p)
	diag.ID = cmp.Or(diag.ID, problem.FieldsConflict)
	diag.Origin = d.Origin(p)
	diag.Line, diag.Caret = d.excerpt(p)
	if !slices.Contains(d.Diags, diag) { // a document may be read more than once
		d.Diags = append(d.Diags, diag)
	}
}

// excerpt is the line at p, safe to show, and the caret under it.
func (d *Document) excerpt(p Pos) (line, caret string) {
	const width = 120
	text, col := d.redact(p)
	runes := []rune(MaskURLs(text))
	for i, r := range runes {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			runes[i] = '?'
		}
		if r == '\t' {
			runes[i] = ' '
		}
	}
	if start := col - width/2; len(runes) > width && start > 0 {
		runes = append([]rune("…"), runes[start:]...)
		col -= start - 1
	}
	if len(runes) > width {
		runes = append(runes[:width:width], '…')
	}
	if len(bytes.TrimSpace([]byte(string(runes)))) == 0 {
		return "", ""
	}
	return string(runes), strings.Repeat(" ", col-1) + "^"
}
