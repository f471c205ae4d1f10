package report

import "testing"

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"two\nlines, \ttab, ü\n":                  "two\nlines, \ttab, ü\n",
		red + "bad" + reset + ": \x1b[2J\r\x1b[K": red + "bad" + reset + `: \x1b[2J\r\x1b[K`,
		"\x1b[8m\x1b[31;8m\u009b8m\u202e\x7f":     `\x1b[8m\x1b[31;8m\u009b8m\u202e\u007f`,
		"\x9b8m":                                  `\ufffd8m`,
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q: Visible returns %q, want %q", text, got, want)
		}
	}
}
