// Package document reads one YAML document into a tree of values, each with its place. It records
// each problem as a [Diagnostic] with the line and a caret, and leaves out what may be secret. It
// knows no field of a document. pkg/config decodes the tree.
package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/netwright/netwright/pkg/problem"
)

// These are the bounds of one document. No real document comes near them. They keep a broken or
// hostile document from using all of the node's memory and time: the YAML library recurses once for
// each key of a mapping, and takes quadratic time for the blank lines at the end of a block.
const (
	MaxBytes      = 4 << 20
	maxDepth      = 32
	maxEntries    = 10_000 // in one list
	maxFields     = 1_000  // in one mapping
	maxBlankLines = 200    // in a row
	maxValues     = 100_000
	maxIndicators = 80_000 // for the YAML library, which takes 450 bytes to 1 kB for each
)

// Pos is a place in a document: line and column count from 1, and the column counts characters.
type Pos struct{ Line, Column int }

// Document is one source while it is read: its text, its tree, and the diagnostics about it.
type Document struct {
	Path       string
	Text       Lines
	Root       *Value // nil until the document is parsed, or if that fails
	parsed     bool
	Errors     int    // also counts an error whose diagnostic is there already
	hidden     []span // the parts that must not be shown; found for the first diagnostic
	scanned    bool
	MayBeEmpty bool // a document with only comments is valid
	Diags      Diagnostics
}

// Lines is the text of a document: UTF-8, with \n as line ends, without a byte order mark.
type Lines string

// New returns the document of a source. [Document.Parse] reads it.
func New(s Source) *Document {
	return &Document{Path: s.Path, Text: Lines(s.Data)}
}

// prepare checks the bytes and normalises the line ends. It reports whether the text can be parsed.
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

// LineEnds returns a text with \n in place of YAML's other line ends.
func LineEnds(text string) string {
	if strings.IndexByte(text, '\r') < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

// badByte returns the index of the first byte that no YAML text may contain, or -1 if there is
// none.
func badByte(s string) int {
	for i, r := range s {
		noUTF8 := r == utf8.RuneError && !strings.HasPrefix(s[i:], string(r))
		if noUTF8 || r < ' ' && r != '\t' && r != '\n' || r == 0x7f {
			return i
		}
	}
	return -1
}

func (d *Document) checkBlankLines() bool {
	run, line := 0, 0
	for this := range strings.SplitSeq(string(d.Text), "\n") {
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

// checkIndicators bounds the number of characters that may begin a token, because the library holds
// all tokens in memory before it returns the first.
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

// position returns the line and column of a byte offset.
func (t Lines) position(offset int) Pos {
	before := string(t[:offset])
	start := strings.LastIndexByte(before, '\n') + 1
	return Pos{strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1}
}

// line returns the text of line n, counted from 1, or "" if there is no such line.
func (t Lines) line(n int) string {
	for line := range strings.SplitSeq(string(t), "\n") {
		if n--; n < 1 {
			return line
		}
	}
	return ""
}

// LinePos returns where line n, counted from 0, of a literal block begins. For any other text it
// returns where the text begins.
func (d *Document) LinePos(v *Value, n int) Pos {
	header := []rune(d.Text.line(v.Pos.Line))
	if i := v.Pos.Column - 1; i >= len(header) || header[i] != '|' {
		return v.Pos
	}
	n += v.Pos.Line + 1
	return Pos{n, indentOf(d.Text.line(n)) + 1}
}

// clamp moves a position from the YAML library into the text.
func (t Lines) clamp(p Pos) Pos {
	last := strings.Count(string(t), "\n") + 1
	p.Line = min(max(p.Line, 1), last)
	p.Column = min(max(p.Column, 1), utf8.RuneCountInString(t.line(p.Line))+1)
	return p
}

// Origin returns the origin of a place in this document.
func (d *Document) Origin(p Pos) Origin { return Origin{File: d.Path, Line: p.Line, Column: p.Column} }

// ErrorAt adds an error, and fills in its place, line and caret.
func (d *Document) ErrorAt(p Pos, diag Diagnostic) {
	diag.Severity = SeverityError
	d.Errors++
	d.ReportAt(p, diag)
}

// WarnAt is like [Document.ErrorAt], but adds a warning.
func (d *Document) WarnAt(p Pos, diag Diagnostic) {
	diag.Severity = SeverityWarning
	d.ReportAt(p, diag)
}

// MaxDiagnostics bounds the diagnostics of one document: enough to correct it, and few enough to
// read.
const MaxDiagnostics = 100

// ReportAt adds a diagnostic, and fills in its place, line and caret.
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

// excerpt returns the line at p without secrets, and the caret under it.
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
	if strings.TrimSpace(string(runes)) == "" {
		return "", ""
	}
	return string(runes), strings.Repeat(" ", col-1) + "^"
}
