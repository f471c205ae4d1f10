package report

import (
	"bytes"
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
	text := string(diff.Diff(name, before, name, after))
	// The first three lines name the files, which the plan's own line does.
	for range 3 {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}
