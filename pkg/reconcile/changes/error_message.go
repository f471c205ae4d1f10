package changes

import "strings"

// messageOf returns the text of an error with line breaks only between the errors that it consists
// of. A line break within one of them is part of a name, such as the name of a file that somebody
// else made. It is shown as \n, so that no name can start a new line.
func messageOf(err error) string {
	var parts []error
	switch w := err.(type) { // only the direct parts
	case interface{ Unwrap() error }:
		parts = []error{w.Unwrap()}
	case interface{ Unwrap() []error }:
		parts = w.Unwrap()
	}
	var b strings.Builder
	text, first := err.Error(), true
	for _, part := range parts {
		if part == nil {
			continue
		}
		before, after, shown := strings.Cut(text, part.Error())
		if !shown { // the text names it in other words
			continue
		}
		b.WriteString(joined(before, !first, true))
		b.WriteString(messageOf(part))
		text, first = after, false
	}
	b.WriteString(joined(text, !first, false))
	return b.String()
}

// joined returns a text that stands before other errors, behind them, or both. It keeps a line
// break that is next to one of them.
func joined(text string, behind, before bool) string {
	head, tail := "", ""
	if behind && strings.HasPrefix(text, "\n") {
		head, text = "\n", text[1:]
	}
	if before && strings.HasSuffix(text, "\n") {
		text, tail = text[:len(text)-1], "\n"
	}
	return head + strings.ReplaceAll(text, "\n", `\n`) + tail
}
