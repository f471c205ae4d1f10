package decode

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/lazyregexp"
)

// Also adds to a hint what is odd in the text that it is about.
func Also(hint, text string) string {
	odd := oddity(text)
	if hint == "" || odd == "" {
		return hint + odd
	}
	return hint + " (" + odd + ")"
}

// placeholder is what templates and shells put values in place of.
var placeholder = lazyregexp.New(`\{\{|\}\}|\{%|<%|[$%]\{|\$\(|^\$[A-Za-z_]|^<[A-Za-z][^<>]*>$|^__[A-Z_]+__$|^@[A-Z_]+@$`)

// anotherField is what a text holds that goes on where it was to end.
var anotherField = lazyregexp.New(`\S[ \n][A-Za-z]+: `)

// oddity says what is odd in a text that was refused, where an eye may miss it; "": nothing.
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
		return "a quote in it has no other one"
	case text != strings.TrimSpace(text):
		return "a blank begins or ends it"
	case strings.Contains(text, " - "):
		return "it goes on over several lines: entries of a list begin in one column"
	}
	return ""
}
