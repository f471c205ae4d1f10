package changes

import "strings"

// messageOf is the text of an error with line ends only between the errors that it is made of.
// Within one of them a line end is part of a name, such as a file's that somebody else made: it is
// shown as \n, so that no name can write a line of its own.
func messageOf(err error) string {
	var parts []error
	switch w := err.(type) { // its own parts, and not those of what it wraps
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
		if !shown { // the text has other words for it
			continue
		}
		b.WriteString(joined(before, !first, true))
		b.WriteString(messageOf(part))
		text, first = after, false
	}
	b.WriteString(joined(text, !first, false))
	return b.String()
}

// joined is a text beside other errors: before it, or behind it, or both. A line end that touches
// one of them is kept.
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
