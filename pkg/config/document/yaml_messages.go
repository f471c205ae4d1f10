package document

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/netwright/netwright/pkg/lazyregexp"
	"github.com/netwright/netwright/pkg/problem"
)

// yamlMessages replaces the YAML library's messages by what is wrong in the text and what to do.
// The first entry counts whose message is part of the library's message.
// https://github.com/goccy/go-yaml/blob/master/parser/parser.go, and scanner/scanner.go beside it.
var yamlMessages = [...]struct {
	message       string
	id            problem.ID
	summary, hint string
}{
	{"end character of double-quoted text", problem.YAMLSyntax, "this double quote is not closed",
		"close the quote on this line; a text that holds a quote goes into quotes of the other kind"},
	{"end character of single-quoted text", problem.YAMLSyntax, "this single quote is not closed",
		"close the quote on this line; a text that holds a quote goes into quotes of the other kind"},
	{"escape", problem.YAMLSyntax, "YAML does not know an escape in this double-quoted text",
		`write \\ for a backslash, or use single quotes`},
	{"surrogate", problem.YAMLSyntax, "YAML does not know an escape in this double-quoted text",
		`write \\ for a backslash, or use single quotes`},
	{"flow mapping end token", problem.YAMLSyntax, "this { is not closed", "write the } after the last field"},
	{"sequence end token", problem.YAMLSyntax, "this [ is not closed", "write the ] after the last entry"},
	{"corresponding to", problem.YAMLSyntax, "no bracket is open that this one closes",
		"take it out, or open one before it"},
	{"flow map content", problem.YAMLSyntax, "something between { and } is not a field",
		"write {key: value, key: value}: look for a comma or a colon too many or too few"},
	{"',' or '}'", problem.YAMLSyntax, "a comma is missing between { and }, or the } is missing",
		"write {key: value, key: value}"},
	{"could not find map value", problem.YAMLSyntax, "a field between { and } has no value",
		"write {key: value, key: value}"},
	{"',' or ']'", problem.YAMLSyntax, "a comma is missing between [ and ], or the ] is missing",
		"write [value, value]"},
	{"but found ','", problem.YAMLSyntax, "there is one comma too many between [ and ]", "write [value, value]"},
	{"block sequence entries", problem.YAMLSyntax, "a list with dashes begins on the line of its field",
		"begin it on the next line, or write [value, value]"},
	{"reserved character", problem.YAMLSyntax, "no plain text in YAML begins with this character",
		"put the value in quotes"},
	{"invalid header option", problem.YAMLSyntax,
		"this sign begins a text of several lines, and what follows it on the line is no part of that",
		"begin the text on the next line, or put the value in quotes"},
	{"invalid number of indent", problem.YAMLIndentation,
		"the first line of this text is further out than blank lines before it",
		"indent all lines of the text alike"},
	{"directive", problem.YAMLUnsupported, "a line that begins with % is a YAML directive, and those are not supported",
		"take the line out, or put the value in quotes"},
	{"document separator", problem.YAMLSyntax, "--- and ... stand alone on their line",
		"take out what stands beside or in front of it"},
	{"unexpected end content", problem.YAMLSyntax, "--- and ... stand alone on their line",
		"take out what stands beside or in front of it"},
	{"tab character", problem.YAMLIndentation, "a tab is used for indentation", "write spaces"},
	{"implicit line break", problem.YAMLSyntax, "a field's name goes over two lines",
		"look for a colon that is missing at the end of the line above"},
	{"map key-value is pre-defined", problem.YAMLSyntax, "there is text after the end of the value",
		"take it out, or put the whole value in quotes"},
	{"mapping value is not allowed", problem.YAMLSyntax,
		"this line has a second colon with a blank, or this field is below a value",
		"put a value that holds a colon in quotes; give each field a line of its own"},
	{"value is not allowed in this context", problem.YAMLSyntax, "there is text after the end of the value",
		"take it out, or put the whole value in quotes"},
	{"invalid key for this map", problem.YAMLSyntax, "this colon has no field name before it",
		"write it as key: value"},
	{"unexpected map key", problem.YAMLSyntax, "no field can be here",
		"look at the line above it for a colon, a quote or a bracket too many or too few"},
}

// explain returns the diagnostic for a message of the YAML library about a line.
func (d *Document) explain(line int, message string) Diagnostic {
	if message == "non-map value is specified" || message == "unexpected key name" {
		return noField(strings.TrimSpace(d.Text.line(line)))
	}
	for _, w := range yamlMessages {
		if strings.Contains(message, w.message) {
			return Diagnostic{ID: w.id, Summary: notYAML + w.summary, Hint: w.hint}
		}
	}
	said := Diagnostic{ID: problem.YAMLSyntax, Summary: notYAML + message,
		Hint: "look at this line and the one above it for a quote, a bracket or a colon too many or too few"}
	if d.Text.mayBeSecret(line) {
		said.Summary = strings.TrimSuffix(notYAML, ": ") // the message may quote the text
	}
	return said
}

const notYAML = "not valid YAML: "

var (
	GluedField  = lazyregexp.New(`^["']?[\w.-]+["']?:[^\s]`)
	equalsField = lazyregexp.New(`^[\w.-]+\s*=`)
)

// noField returns why a line is no field although one must be there. It shows no part of the line.
func noField(text string) Diagnostic {
	said := Diagnostic{ID: problem.YAMLSyntax, Summary: "a name on this line has no colon after it, as a field needs",
		Expected: "key: value",
		Hint:     "a text that goes on from the line above is indented further than its field"}
	switch {
	case strings.HasPrefix(text, "}") || strings.HasPrefix(text, "]"):
		said.Summary, said.Hint, said.Expected = "no bracket is open that this one closes",
			"take it out, or open one before it", ""
	case text == "-" || strings.HasPrefix(text, "- "):
		said.Summary, said.Expected = "an entry of a list is among fields", "a field such as key: value"
		said.Hint = "a list's entries begin in the column of its field or further in, with no field between them"
	case strings.HasPrefix(text, "-"):
		said.Summary, said.Expected, said.Hint = "a blank is missing after the dash", "- value", ""
	case GluedField().MatchString(text):
		said.Summary, said.Hint = "a blank is missing after the colon",
			"write it as key: value, or put a string that holds a colon in quotes"
	case equalsField().MatchString(text):
		said.Summary, said.Hint = "this line has an equals sign where YAML needs a colon", "write it as key: value"
	}
	said.Summary = notYAML + said.Summary
	return said
}

// Lookalike returns what a character that is not ASCII looks like, or "" if it looks like no ASCII
// character. Editors, chats and web pages insert such characters.
func Lookalike(r rune) string {
	switch {
	case r < 0x80:
		return ""
	case r == '\u2018', r == '\u2019', r == '\u201c', r == '\u201d', r == '\u00ab', r == '\u00bb':
		return "looks like a quote, but is another character"
	case r == '\u2010', r == '\u2011', r == '\u2012', r == '\u2013', r == '\u2014', r == '\u2212':
		return "looks like a hyphen, but is another character"
	case r >= 0xff01 && r <= 0xff5e: // the full-width forms, in the order of ASCII
		return fmt.Sprintf("looks like %c, but is another character", r-0xfee0)
	case unicode.IsSpace(r):
		return "looks like a space, but is another character"
	case unicode.Is(unicode.Cf, r):
		return "cannot be seen"
	}
	return ""
}
