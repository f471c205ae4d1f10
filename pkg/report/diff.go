package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// maxDiff bounds what is compared line by line; above it only sizes are shown.
const maxDiff = 1 << 20

// Unified is the difference of two texts, without the names' header. It is
// empty for equal, binary and very large contents.
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
	// The first three lines name the files, which the plan's own line does.
	for range 3 {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

// whole is the difference of a text and none: each line with a sign. A first pass makes most files
// anew, and the library takes five times the memory to find that nothing is alike.
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
