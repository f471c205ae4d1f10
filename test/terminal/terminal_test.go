package terminal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	text := "# Title\n\n    $ not a block\n\n```console\n$ cat >f <<'END'\na: 1\n$ b\nEND\n$ cat f\na: …\n…\n```\n\n```yaml\n$ no\n```\n"
	if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	steps, err := Read(page)
	want := []Step{{6, "cat >f <<'END'\na: 1\n$ b\nEND", ""}, {10, "cat f", "a: …\n…\n"}}
	if diff := cmp.Diff(want, steps); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for printed, well := range map[string]bool{"a:   12\n": true, "a: 1\nmore\nlines\n": true, "b\n": false, "": false, "a: 1": true} {
		if steps[1].Matches(printed) != well {
			t.Errorf("%q matches: %v", printed, !well)
		}
	}
}
