package config

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// asciiLike says which character of ASCII another one is taken for; "": for none. Editors, chats
// and web pages put these in.
func asciiLike(r rune) string {
	switch {
	case r < 0x80:
		return ""
	case r == '\u2018', r == '\u2019', r == '\u201c', r == '\u201d', r == '\u00ab', r == '\u00bb':
		return "looks like a quote, and is none"
	case r == '\u2010', r == '\u2011', r == '\u2012', r == '\u2013', r == '\u2014', r == '\u2212':
		return "looks like a hyphen, and is none"
	case r >= 0xff01 && r <= 0xff5e: // the full-width forms, in the order of ASCII
		return fmt.Sprintf("looks like %c, and is none", r-0xfee0)
	case unicode.IsSpace(r):
		return "looks like a space, and is none"
	case unicode.Is(unicode.Cf, r):
		return "cannot be seen"
	}
	return ""
}

// also adds to a hint what is odd in the text that it is about.
func also(hint, text string) string {
	odd := oddity(text)
	if hint == "" || odd == "" {
		return hint + odd
	}
	return hint + " (" + odd + ")"
}

// placeholder is what templates and shells put values in place of.
var placeholder = regexp.MustCompile(`\{\{|\}\}|\{%|<%|[$%]\{|\$\(|^\$[A-Za-z_]|^<[A-Za-z][^<>]*>$|^__[A-Z_]+__$|^@[A-Z_]+@$`)

// anotherField is what a text holds that goes on where it was to end.
var anotherField = regexp.MustCompile(`\S[ \n][A-Za-z]+: `)

// oddity says what is odd in a text that was refused, where an eye may miss it; "": nothing.
func oddity(text string) string {
	if found := placeholder.FindString(text); found != "" {
		return "this is a placeholder of a template: render it first"
	}
	for _, r := range text {
		if like := asciiLike(r); like != "" {
			return fmt.Sprintf("%U in it %s", r, like)
		}
		if r >= 0x80 && unicode.IsLetter(r) {
			return fmt.Sprintf("%U in it is no letter of ASCII", r)
		}
	}
	if anotherField.MatchString(text) {
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
