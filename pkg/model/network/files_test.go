package network

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/host"
)

// TestFilesAreFound makes every file that a network leaves below an empty root, and beside each a
// file whose name only begins alike. The first files are found, and the others are not.
func TestFilesAreFound(t *testing.T) {
	for _, n := range All() {
		t.Run(n.Name, func(t *testing.T) {
			root := t.TempDir()
			want := map[string]bool{}
			for _, pattern := range n.Residue.Files {
				name := aName(pattern)
				leave(t, root, name)
				if !strings.HasSuffix(strings.TrimSuffix(pattern, "/"), "*") { // it means longer names, too
					leave(t, root, strings.TrimSuffix(name, "/")+"~")
				}
				want["file:"+strings.TrimSuffix(name, "/")] = true
			}
			view, err := host.OpenView(t.Context(), host.Options{Root: root})
			if err != nil {
				t.Fatal(err)
			}
			defer view.Close()
			found, err := cleanup.Selection{Residue: cleanup.Residue{Files: n.Residue.Files}}.Find(t.Context(), view.View())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				if !want[string(f.Key)] {
					t.Errorf("%s is not the network's", f.Key)
				}
				delete(want, string(f.Key))
			}
			for key := range want {
				t.Errorf("%s was left, and is not found", key)
			}
		})
	}
}

// aName returns a path that matches a pattern.
func aName(pattern string) string {
	for {
		from := strings.IndexByte(pattern, '[')
		if from < 0 {
			return strings.NewReplacer("*", "x1", "?", "x").Replace(pattern)
		}
		to := from + strings.IndexByte(pattern[from:], ']')
		pattern = pattern[:from] + pattern[from+1:from+2] + pattern[to+1:]
	}
}

func leave(t *testing.T, root, name string) {
	t.Helper()
	path := filepath.Join(root, name)
	dir := filepath.Dir(path)
	if strings.HasSuffix(name, "/") {
		dir = path
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if dir == path {
		return
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}
