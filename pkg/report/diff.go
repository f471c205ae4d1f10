package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// maxDiff is the largest size that is compared line by line, in bytes; above it only sizes are
// shown.
const maxDiff = 1 << 20

// Unified returns the unified diff of two texts, without the header with the names. It is empty for
// equal, binary and very large contents.
func Unified(name string, before, after []byte) string {
	if bytes.Equal(before, after) || len(before)+len(after) > maxDiff || bytes.IndexByte(before, 0) >= 0 ||
		bytes.IndexByte(after, 0) >= 0 {
		return ""
	}
	switch {
	case len(before) == 0:
		return whole("@@ -0,0 +1,%d @@\n", '+', after)
	case len(after) == 0:
		return whole("@@ -1,%d +0,0 @@\n", '-', before)
	}
	text := string(diff.Diff(name, before, name, after))
	// The first three lines name the files, which the plan's own line names already.
	for range 3 {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

// whole returns the diff between a text and an empty one: each line with a sign. A first pass
// creates most files, and the diff library needs five times the memory for it.
func whole(head string, sign byte, text []byte) string {
	lines, end := bytes.Count(text, []byte("\n")), ""
	if text[len(text)-1] != '\n' {
		lines, end = lines+1, "\n\\ No newline at end of file\n"
	}
	var out strings.Builder
	out.Grow(len(head) + 20 + len(text) + lines + len(end))
	fmt.Fprintf(&out, head, lines)
	for line := range bytes.Lines(text) {
		out.WriteByte(sign)
		out.Write(line)
	}
	out.WriteString(end)
	return out.String()
}
