package config

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
	maxDocumentBytes = 4 << 20
	maxDepth         = 32
	maxEntries       = 10_000 // of one list
	maxFields        = 1_000  // of one mapping
	maxBlankLines    = 200    // in a row
	maxValues        = 100_000
	maxSigns         = 80_000 // of YAML, where the YAML library reads: it takes 450 bytes to 1 kB for each
)

// pos is a place in a document: line and column from 1, the column in characters.
type pos struct{ line, col int }

// document is one source on its way: checked bytes, tree, and the diagnostics about it.
type document struct {
	path       string
	text       string // UTF-8, line ends \n, no byte order mark
	root       *value // nil until parsed, or when it cannot be
	dialect    *dialect
	parsed     bool
	errors     int    // counted also when the diagnostic is one we have
	hidden     []span // what must not be shown; filled at the first diagnostic
	scanned    bool
	mayBeEmpty bool // nothing but comments is a document too
	diags      Diagnostics
}

func newDocument(s Source) *document {
	return &document{path: s.Path, text: string(s.Data), dialect: &strict}
}

// prepare checks the bytes and normalises line ends. It reports whether the text can be given to
// the parser.
func (d *document) prepare() bool {
	if len(d.text) > maxDocumentBytes {
		size := len(d.text)
		d.text = d.text[:min(strings.IndexByte(d.text+"\n", '\n'), 200)]
		d.errorAt(pos{1, 1}, Diagnostic{ID: problem.DocumentBounds, Summary: fmt.Sprintf("the document is too big: %d bytes", size),
			Expected: fmt.Sprintf("at most %d bytes", maxDocumentBytes), Hint: "big files belong in assets, which are fetched and checked by hash"})
		return false
	}
	if strings.HasPrefix(d.text, "\xff\xfe") || strings.HasPrefix(d.text, "\xfe\xff") {
		d.text = ""
		d.errorAt(pos{1, 1}, Diagnostic{ID: problem.DocumentEncoding, Summary: "the document is UTF-16", Expected: "UTF-8", Hint: "save it as UTF-8"})
		return false
	}
	d.text = strings.TrimPrefix(d.text, "\ufeff")
	if strings.IndexByte(d.text, '\r') >= 0 {
		d.text = strings.ReplaceAll(strings.ReplaceAll(d.text, "\r\n", "\n"), "\r", "\n")
	}
	if i := badByte(d.text); i >= 0 {
		summary := fmt.Sprintf("the document holds a control character (0x%02x)", d.text[i])
		if r, size := utf8.DecodeRuneInString(d.text[i:]); r == utf8.RuneError && size == 1 {
			summary = fmt.Sprintf("the document is not UTF-8: byte 0x%02x", d.text[i])
		}
		d.errorAt(d.position(i), Diagnostic{ID: problem.DocumentEncoding, Summary: summary, Expected: "text in UTF-8", Hint: "type the character anew, or take it out; binary content goes in as base64 (isBase64: true)"})
		return false
	}
	return d.checkBlankLines()
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

func (d *document) checkBlankLines() bool {
	run, line := 0, 0
	for rest, more := d.text, true; more; {
		var this string
		this, rest, more = strings.Cut(rest, "\n")
		line++
		if strings.TrimLeft(this, " \t") != "" {
			run = 0
			continue
		}
		if run++; run > maxBlankLines {
			d.errorAt(pos{line, 1}, Diagnostic{ID: problem.DocumentBounds, Summary: fmt.Sprintf("more than %d blank lines in a row", maxBlankLines),
				Hint: "take them out; a file that needs them goes in as base64 (isBase64: true)"})
			return false
		}
	}
	return true
}

// checkSigns counts what may begin a token: the library keeps all tokens before we see the first.
func (d *document) checkSigns() bool {
	signs := 0
	for i := range len(d.text) {
		switch d.text[i] {
		case '-':
			if i+1 < len(d.text) && strings.IndexByte(" \t\n", d.text[i+1]) < 0 {
				continue
			}
		case '\n', ',', ':', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', '#', '?':
		default:
			continue
		}
		if signs++; signs > maxSigns {
			d.errorAt(d.position(i), Diagnostic{ID: problem.DocumentBounds, Summary: fmt.Sprintf("more than %d lines and signs of YAML", maxSigns),
				Hint: "big files belong in assets; plain YAML without anchors, escapes and folded text may be longer"})
			return false
		}
	}
	return true
}

// position turns a byte offset into line and column.
func (d *document) position(offset int) pos {
	before := d.text[:offset]
	start := strings.LastIndexByte(before, '\n') + 1
	return pos{strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1}
}

// line is the text of line n, from 1; "" when there is no such line.
func (d *document) line(n int) string {
	rest := d.text
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

// clamp keeps a position of the YAML library inside the text.
func (d *document) clamp(p pos) pos {
	last := strings.Count(d.text, "\n") + 1
	p.line = min(max(p.line, 1), last)
	p.col = min(max(p.col, 1), utf8.RuneCountInString(d.line(p.line))+1)
	return p
}

// origin of a place in this document.
func (d *document) origin(p pos) Origin { return Origin{File: d.path, Line: p.line, Column: p.col} }

func (d *document) errorAt(p pos, diag Diagnostic) {
	diag.Severity = SeverityError
	d.errors++
	d.reportAt(p, diag)
}

func (d *document) warnAt(p pos, diag Diagnostic) {
	diag.Severity = SeverityWarning
	d.reportAt(p, diag)
}

// maxDiagnostics of one document: enough to mend it, few enough to read.
const maxDiagnostics = 100

// reportAt completes a diagnostic with place, line and caret, and keeps it.
func (d *document) reportAt(p pos, diag Diagnostic) {
	if len(d.diags) >= maxDiagnostics {
		return
	}
	p = d.clamp(p)
	diag.ID = cmp.Or(diag.ID, problem.FieldsTogether)
	diag.Origin = d.origin(p)
	diag.Line, diag.Caret = d.excerpt(p)
	if !slices.Contains(d.diags, diag) { // a document may be read more than once
		d.diags = append(d.diags, diag)
	}
}

// excerpt is the line at p, safe to show, and the caret under it.
func (d *document) excerpt(p pos) (line, caret string) {
	const width = 120
	text, col := d.redact(p)
	runes := []rune(maskURLs(text))
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

// Excerpt is a line of a source as it may be shown, and the caret below it; both are empty where
// there is no such line.
func Excerpt(s Source, line, column int) (text, caret string) {
	d := newDocument(s)
	d.mayBeEmpty = true
	d.parse()
	return d.excerpt(d.clamp(pos{line, column}))
}
