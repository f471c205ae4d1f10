package reconcile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// twoPaths returns a host where /lib and /usr/lib are one directory, by a link or by a mount.
func twoPaths(t *testing.T, link bool) string {
	t.Helper()
	needs.Root(t)
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "usr/lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	lib := filepath.Join(root, "lib")
	if link {
		if err := os.Symlink("usr/lib", lib); err != nil {
			t.Fatal(err)
		}
	} else {
		if err := os.Mkdir(lib, 0o755); err != nil {
			t.Fatal(err)
		}
		mounted(t, lib, "--bind", filepath.Join(root, "usr/lib"))
	}
	return root
}

// Documents want two paths that are one file on this host. The agent makes the first, says of the
// second that it is the same file, and writes the file once. If both want the same, nothing is
// wrong. The lines that keep it: pkg/reconcile/plan.go, planSteps (SameFiles);
// pkg/reconcile/changes/same_file.go.
func TestTwoPathsOfOneFile(t *testing.T) {
	for name, link := range map[string]bool{"a link": true, "a mount": false} {
		t.Run(name, func(t *testing.T) {
			root := twoPaths(t, link)
			for range 3 {
				p, err := converge(t, root, file("/lib/new/deep/a", "1"), file("/usr/lib/new/deep/a", "2"), file("/lib/b", "b"))
				if err == nil || !strings.Contains(said(p), "/usr/lib/new/deep/a is on this host the same file as /lib/new/deep/a (test)") {
					t.Errorf("%v\n%s", err, said(p))
				}
				if got := hostroot.Read(t, root, "/lib/new/deep/a"); got != "1" {
					t.Errorf("the file has %q", got)
				}
			}
			mustConverge(t, root, file("/lib/new/deep/a", "2"), file("/usr/lib/new/deep/a", "2"), file("/lib/b", "b"))
			if p := mustConverge(t, root, file("/lib/new/deep/a", "2"), file("/usr/lib/new/deep/a", "2"), file("/lib/b", "b")); p.Summary.Changes() > 0 {
				t.Errorf("not quiet:\n%s", said(p))
			}
		})
	}
}

// Documents write the path of a file in another way. The file is wanted as before, so it is not
// removed, and nothing is restored over it. A reset restores what was there before the first path.
// The line that keeps it: pkg/reconcile/ownership/removals.go, Prune (sameFile).
func TestAFileByAnotherPathStays(t *testing.T) {
	for name, before := range map[string]string{"new": "", "there before": "before"} {
		t.Run(name, func(t *testing.T) {
			root := twoPaths(t, true)
			if before != "" {
				hostroot.Put(t, root, "/usr/lib/new/a", before)
			}
			mustConverge(t, root, file("/lib/new/a", "1"))
			for range 2 {
				p := mustConverge(t, root, file("/usr/lib/new/a", "1"))
				if !hostroot.There(root, "/lib/new/a") || hostroot.Read(t, root, "/lib/new/a") != "1" || p.Summary.Changes() > 0 {
					t.Fatalf("the file went:\n%s", said(p))
				}
			}
			if _, err := resetOf(onRoot(root)).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if there := hostroot.There(root, "/usr/lib/new/a"); there != (before != "") || there && hostroot.Read(t, root, "/usr/lib/new/a") != before {
				t.Errorf("after the reset the file is there: %v", there)
			}
		})
	}
}
