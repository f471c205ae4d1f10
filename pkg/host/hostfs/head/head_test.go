package head

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Only the ends of a large file are read, and only the part of a JSON file before a key. If the
// file is cut short or not in the agent's form, the whole file counts.
func TestTheHeadOfALargeFileIsReadAlone(t *testing.T) {
	root := t.TempDir()
	files, err := hostfs.Open(hostfs.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, "x"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ content, begin, end string }{
		{"", "", ""}, {"ab", "ab", "ab"}, {"abc", "abc", "abc"}, {"abcde", "abc", "cde"}, {"abcdefgh", "abc", "fgh"},
	} {
		write(c.content)
		if begin, end, err := files.ReadEnds("/x", 3); err != nil || string(begin) != c.begin || string(end) != c.end {
			t.Errorf("of %q: %q, %q, %v", c.content, begin, end, err)
		}
	}
	if _, _, err := files.ReadEnds("/absent", 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}

	type record struct {
		Of    string
		After []string
		Last  int
	}
	after := `"After":["` + strings.Repeat("x", 5*size) + `"]`
	for _, c := range []struct {
		what, content string
		alone, broken bool
	}{
		{what: "as it is written", content: `{"Of":"us",` + after + `,"Last":1}`, alone: true},
		{what: "in another order", content: `{` + after + `,"Last":1,"Of":"us"}`},
		{what: "indented", content: "{\n \"Of\": \"us\",\n " + after + ",\n \"Last\": 1}\n"},
		{what: "cut short", content: `{"Of":"us",` + after[:3*size], broken: true},
	} {
		write(c.content)
		var h record
		err := Read(files, "/x", "After", "}", &h)
		switch {
		case (err != nil) != c.broken:
			t.Errorf("%s: %v; want an error: %t", c.what, err, c.broken)
		case c.broken:
		case h.Of != "us" || (h.Last == 0) != c.alone:
			t.Errorf("%s: of %q, %d read of what comes last", c.what, h.Of, h.Last)
		}
	}
}
