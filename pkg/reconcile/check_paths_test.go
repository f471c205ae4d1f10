package reconcile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// A file system is read-only or has no room, or another file is mounted on the file. The plan fails
// as the run would, only for that file, and says what to do. The lines that keep it:
// pkg/reconcile/changes/check_paths.go, checkPaths; pkg/host/hostfs/writable.go, Writable.
func TestAPlanSaysWhatCannotBeWritten(t *testing.T) {
	needs.Root(t)
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		says  string
	}{
		{"an immutable file", func(t *testing.T, dir string) {
			hostroot.MakeImmutable(t, filepath.Join(dir, "there"), true)
			t.Cleanup(func() { hostroot.MakeImmutable(t, filepath.Join(dir, "there"), false) })
		}, "chattr -i"},
		{"an immutable directory", func(t *testing.T, dir string) {
			hostroot.MakeImmutable(t, dir, true)
			t.Cleanup(func() { hostroot.MakeImmutable(t, dir, false) })
		}, "chattr -i"},
		{"a read-only file system", func(t *testing.T, dir string) { covered(t, dir, "ro") }, "mount it writable"},
		{"a file system without room", func(t *testing.T, dir string) {
			covered(t, dir, "size=4k")
			if err := os.WriteFile(filepath.Join(dir, "fills"), make([]byte, 4096), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "free some space"},
		{"a mounted file", func(t *testing.T, dir string) {
			hostroot.Put(t, dir, "other", "9")
			mounted(t, filepath.Join(dir, "there"), "--bind", filepath.Join(dir, "other"))
			t.Cleanup(func() {
				if got := hostroot.Read(t, dir, "other"); got != "9" {
					t.Errorf("the file at its other path is %q", got)
				}
			})
		}, "unmount that first"},
		{"a file system without inodes", func(t *testing.T, dir string) { covered(t, dir, "nr_inodes=1") }, "free some space or inodes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			mustConverge(t, root, file("/etc/lab/there", "1"))
			c.spoil(t, filepath.Join(root, "etc/lab"))
			want := wanting(file("/etc/lab/there", "2"), file("/etc/lab/new/deep", "1"), file("/etc/other", "1"))
			dry, _ := onRoot(root).DryRun(t.Context(), want)
			p, err := onRoot(root).Converge(t.Context(), want)
			if err == nil || !hostroot.There(root, "/etc/other") {
				t.Errorf("the run: %v\n%s", err, said(p))
			}
			for of, plan := range map[string]*report.Plan{"the plan": dry, "the run": p} {
				failed := map[string]string{}
				for _, s := range plan.Steps {
					if s.State == report.Failed {
						failed[s.Key] = s.Message
					}
				}
				if len(failed) != dry.Summary.Failed || len(failed) == 0 || failed["file:/etc/other"] != "" {
					t.Errorf("%s: failed is %q", of, failed)
				}
				for key, message := range failed {
					if !strings.Contains(message, c.says) {
						t.Errorf("%s: %s does not say what to do: %s", of, key, message)
					}
				}
			}
		})
	}
}

// covered mounts a small file system over a directory.
func covered(t *testing.T, dir, options string) {
	t.Helper()
	mounted(t, dir, "-t", "tmpfs", "-o", options, "lab")
}

// mounted mounts something until the test ends.
func mounted(t *testing.T, at string, args ...string) {
	t.Helper()
	needs.Tool(t, "mount")
	if out, err := exec.Command("mount", append(args, at)...).CombinedOutput(); err != nil {
		t.Fatalf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
}
