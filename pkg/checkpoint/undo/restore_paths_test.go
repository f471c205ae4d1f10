package undo

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// A pod puts a link in place of a directory that an undo restores. The link gets neither the host's
// directory nor a file in it, and the undo completes. The lines that keep it: restore.go, restore
// and Files (note).
func TestUndoFollowsNoLink(t *testing.T) {
	root, h := openRoot(t)
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(root+"/run/flannel/d", 0o755), os.Chmod(root+"/run/flannel/d", 0o777), os.Chown(root+"/run/flannel/d", 1000, 1000),
		os.WriteFile(root+"/run/flannel/d/zz-pwn", []byte("the pod's"), 0o755), os.WriteFile(root+"/run/flannel/rest", []byte("rest"), 0o644),
		os.MkdirAll(root+"/generators", 0o755), os.WriteFile(root+"/shadow", []byte("secret"), 0o600))
	var l Log
	c := Capture{Host: h, Log: &l, Twin: func(string) string { return "" }}
	for _, name := range []string{"", "/d", "/d/zz-pwn", "/rest"} {
		must(c.file("/run/flannel" + name))
	}
	must(h.Files.RemoveTree(t.Context(), "/run/flannel"), os.Mkdir(root+"/run/flannel", 0o700), os.Symlink("/generators", root+"/run/flannel/d"))

	r := Restore(h, &l, false)
	must(r.Files(t.Context()))
	info, err := os.Stat(root + "/generators")
	left, errList := os.ReadDir(root + "/generators")
	if err != nil || errList != nil || info.Mode().Perm() != 0o755 || len(left) > 0 {
		t.Errorf("the host's directory: %v, %v, %v, %v", info.Mode(), left, err, errList)
	}
	want := "/run/flannel/d is a symbolic link to /generators: it is not followed; state it in spec.followLinks if it is yours"
	if !slices.Equal(r.Left, []string{want}) {
		t.Errorf("left: %q, want %q", r.Left, want)
	}
	if text, err := os.ReadFile(root + "/run/flannel/rest"); err != nil || string(text) != "rest" {
		t.Errorf("the other file is %q, %v", text, err)
	}

	must(os.Link(root+"/shadow", root+"/run/flannel/name"))
	var link *hostpath.LinkError
	var names *hostpath.NamesError
	if err := c.file("/run/flannel/d/x"); !errors.As(err, &link) {
		t.Errorf("taken down through a link: %v", err)
	}
	if err := c.file("/run/flannel/name"); !errors.As(err, &names) {
		t.Errorf("taken down by another name: %v", err)
	}
}

// A path that somebody made immutable, or mounted a file on, stays as it is and is reported.
// Everything else is restored. The lines that keep it: restore.go, restore (Writable), Files and
// fixed.
func TestUndoLeavesWhatIsFixed(t *testing.T) {
	needs.Tool(t, "mount")
	for name, fix := range map[string]struct {
		fix, free string // commands
		path      string
		left      int // the number of paths
		says      string
	}{
		"a file":                      {"chattr +i", "chattr -i", "/etc/a/f", 1, "operation not permitted"},
		"a directory":                 {"chattr +i", "chattr -i", "/etc/a", 2, "operation not permitted"},
		"a directory that only grows": {"chattr +a", "chattr -a", "/etc/a", 2, "operation not permitted"},
		"a mounted file":              {"mount --bind other", "umount", "/etc/a/f", 1, "device or resource busy"},
	} {
		t.Run(name, func(t *testing.T) {
			root, h := openRoot(t)
			write := func(text string, names ...string) {
				t.Helper()
				for _, name := range names {
					hostroot.Put(t, root, name, text)
				}
			}
			write("old", "/etc/a/f", "/etc/b/f")
			var l Log
			c := Capture{Host: h, Log: &l, Twin: func(string) string { return "" }}
			for _, name := range []string{"/etc/a/f", "/etc/a/new", "/etc/b/f", "/etc/b/new"} {
				if err := c.file(name); err != nil {
					t.Fatal(err)
				}
			}
			write("changed", "/etc/a/f", "/etc/a/new", "/etc/b/f", "/etc/b/new")
			hostroot.Put(t, root, "other", "other")
			run := func(command string) {
				t.Helper()
				cmd := exec.Command("sh", "-c", command+" ."+fix.path)
				cmd.Dir = root
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v: %s", command, err, out)
				}
			}
			run(fix.fix)
			defer run(fix.free)
			r := Restore(h, &l, false)
			if err := r.Files(t.Context()); err != nil {
				t.Errorf("it is tried again: %v", err)
			}
			if len(r.Left) != fix.left || !strings.Contains(r.Left[0], "write /etc/a/f: "+fix.says) {
				t.Errorf("left: %q", r.Left)
			}
			if got := hostroot.Read(t, root, "/etc/b/f"); got != "old" || hostroot.There(root, "/etc/b/new") {
				t.Errorf("what is not fixed is %q", got)
			}
		})
	}
}

// openRoot returns a host that is an empty directory.
func openRoot(t *testing.T) (root string, h *host.Host) {
	t.Helper()
	needs.Root(t)
	root = t.TempDir()
	h, err := host.Open(t.Context(), host.Options{Root: root, Facts: &host.Facts{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return root, h
}
