package report

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
)

// A new file and a removed one are shown as the library shows them, byte for byte.
func TestUnifiedOfAWholeText(t *testing.T) {
	for _, text := range []string{"a\n", "a", "\n", "\n\n", "a\nb", "a\n\nb\n", "+a\n-b\n", "\r\n", strings.Repeat("line\n", 3000)} {
		for _, c := range [][2]string{{"", text}, {text, ""}} {
			_, want, _ := strings.Cut(string(diff.Diff("n", []byte(c[0]), "n", []byte(c[1]))), "+++ n\n")
			if got := Unified("n", []byte(c[0]), []byte(c[1])); got != want {
				t.Errorf("%.20q to %.20q is %.60q, want %.60q", c[0], c[1], got, want)
			}
		}
	}
}

// The diff of a new file allocates its text once, since a first pass makes ten thousand of them.
func TestUnifiedOfAWholeTextAllocatesOnce(t *testing.T) {
	text := []byte(strings.Repeat("option = value\n", 200))
	if n := testing.AllocsPerRun(10, func() { Unified("n", nil, text) }); n > 2 {
		t.Errorf("%v allocations, want the text and its number of lines", n)
	}
}
