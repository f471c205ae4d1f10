package decode

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/lazyregexp"
)

// Also adds to a hint what is unusual in the text that the hint is about.
func Also(hint, text string) string {
	odd := oddity(text)
	if hint == "" || odd == "" {
		return hint + odd
	}
	return hint + " (" + odd + ")"
}

// placeholder matches what templates and shells replace by values.
var placeholder = lazyregexp.New(`\{\{|\}\}|\{%|<%|[$%]\{|\$\(|^\$[A-Za-z_]|^<[A-Za-z][^<>]*>$|^__[A-Z_]+__$|^@[A-Z_]+@$`)

// anotherField matches a text that runs on into another field.
var anotherField = lazyregexp.New(`\S[ \n][A-Za-z]+: `)

// oddity returns what is unusual in a refused text and easily missed, or "" if nothing is.
func oddity(text string) string {
	if found := placeholder().FindString(text); found != "" {
		return "this is a placeholder of a template: render it first"
	}
	for _, r := range text {
		if like := document.Lookalike(r); like != "" {
			return fmt.Sprintf("%U in it %s", r, like)
		}
		if r >= 0x80 && unicode.IsLetter(r) {
			return fmt.Sprintf("%U in it is no letter of ASCII", r)
		}
	}
	if anotherField().MatchString(text) {
		return "it holds another field: a comma or a new line is missing before that"
	}
	switch quotes := strings.Count(text, `"`) + strings.Count(text, "'"); {
	case quotes%2 == 1:
		return "a quote in it is not closed"
	case text != strings.TrimSpace(text):
		return "a blank begins or ends it"
	case strings.Contains(text, " - "):
		return "it goes on over several lines: entries of a list begin in one column"
	}
	return ""
}
