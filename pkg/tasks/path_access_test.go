package tasks

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/test/needs"
)

// onDisk opens a host on an empty directory. Its files belong to root, as a node's do.
func onDisk(t *testing.T) (*host.Host, string) {
	t.Helper()
	needs.Root(t)
	root := t.TempDir()
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h, root
}

func ok(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// wantFile reads a path with system calls alone.
func wantFile(t *testing.T, path, content string, mode os.FileMode, uid uint32) {
	t.Helper()
	got, err := os.ReadFile(path)
	ok(t, err)
	var st unix.Stat_t
	ok(t, unix.Lstat(path, &st))
	if string(got) != content || os.FileMode(st.Mode&0o7777) != mode || st.Uid != uid {
		t.Errorf("%s: %q %o uid %d, want %q %o uid %d", path, got, st.Mode&0o7777, st.Uid, content, mode, uid)
	}
}

// wantError plans, and expects an error with all of these words.
func wantError(t *testing.T, task Task, v host.View, words ...string) error {
	t.Helper()
	c, err := task.Plan(t.Context(), v)
	if err == nil {
		t.Fatalf("%v: no error, plan %v", task.Owns(), lines(c))
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v: %q does not say %q", task.Owns(), err, w)
		}
	}
	return err
}

var passwd = "root:x:0:0::/:/bin/sh\ncalico:x:777:778::/:\n"

func TestDirectory(t *testing.T) {
	h, root := onDisk(t)
	ok(t, os.Mkdir(root+"/etc", 0o755), os.WriteFile(root+"/etc/passwd", []byte(passwd), 0o644), os.WriteFile(root+"/etc/group", nil, 0o644))
	d := Directory{Path: "/var/lib/calico", Mode: 0o750, Owner: "calico", Meta: Meta{Effects: []graph.Key{"effect:x"}}}
	c := converge(t, h, d)
	wantLines(t, c, "+ file:/var, type →directory, mode →0755, owner →root:root", "+ file:/var/lib, type →directory, mode →0755, owner →root:root",
		"+ file:/var/lib/calico, type →directory, mode →0750, owner →calico (777:778)")
	if c.Reason != "absent" || len(c.Effects) != 1 || c.Pending[0].File.Type != hostfs.Directory {
		t.Errorf("converge returns %+v", c)
	}
	d.Mode, d.Owner = 0o1777, ""
	c = converge(t, h, d)
	wantLines(t, c, "~ file:/var/lib/calico, mode 0750→1777, owner 777:778→root:root")
	if c.Reason != "mode and owner differ" {
		t.Errorf("the reason is %q, want \"mode and owner differ\"", c.Reason)
	}
	ok(t, os.Symlink("/var/lib/calico", root+"/opt"), os.Symlink("var", root+"/run"), os.Symlink("nowhere", root+"/gone"), os.WriteFile(root+"/file", nil, 0o644), os.Symlink("loop", root+"/loop"))
	if c := plan(t, Directory{Path: "/opt", Mode: 0o1777}, h.Live.View()); c != nil {
		t.Errorf("a symlink to a right directory: %v", lines(c))
	}
	wantError(t, Directory{Path: "/run", Mode: 0o711}, h.Live.View(), "/run is a symbolic link to var: it is not followed; state it in spec.followLinks")
	h.Live.Files.Follow([]string{"/run"})
	converge(t, h, Directory{Path: "/run", Mode: 0o711})
	if info, err := os.Lstat(root + "/var"); err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("Lstat returns %v, %v", info, err)
	}
	wantError(t, Directory{Path: "/file"}, h.Live.View(), "a file is in the way of the directory", "mv /file /file.old")
	wantError(t, Directory{Path: "/gone"}, h.Live.View(), "a symlink is in the way")
	wantError(t, Directory{Path: "/loop"}, h.Live.View(), "circle")
	wantError(t, Directory{Path: "/file/x"}, h.Live.View(), "a parent is a file")
	wantError(t, Directory{Path: "/x", Owner: "nobody:x"}, h.Live.View(), `no user "nobody"`, "useradd")
}

func TestFile(t *testing.T) {
	h, root := onDisk(t)
	f := File{Path: "/etc/cni/net.d/10-x.conflist", Content: []byte("one\n"), Mode: 0o600}
	c := converge(t, h, f)
	wantLines(t, c, "+ file:/etc, type →directory, mode →0755, owner →root:root", "+ file:/etc/cni, type →directory, mode →0755, owner →root:root",
		"+ file:/etc/cni/net.d, type →directory, mode →0755, owner →root:root", "+ file:/etc/cni/net.d/10-x.conflist, mode →0600, owner →root:root")
	if it := c.Items[3]; it.Before != nil || string(it.After) != "one\n" {
		t.Errorf("it.Before %q, it.After %q", it.Before, it.After)
	}
	path := root + f.Path
	wantFile(t, path, "one\n", 0o600, 0)

	var before, after unix.Stat_t
	ok(t, unix.Stat(path, &before))
	f.Mode, f.Owner = 0o644, "12:34"
	wantLines(t, converge(t, h, f), "~ file:/etc/cni/net.d/10-x.conflist, mode 0600→0644, owner root:root→12:34")
	ok(t, unix.Stat(path, &after))
	if before.Ino != after.Ino {
		t.Error("a change of mode made a new file")
	}
	f.Content = []byte("two\n")
	c = converge(t, h, f)
	wantLines(t, c, "~ file:/etc/cni/net.d/10-x.conflist, content sha256 2c8b08da5ce6, 4 bytes→sha256 27dd8ed44a83, 4 bytes")
	if it := c.Items[0]; string(it.Before) != "one\n" || string(it.After) != "two\n" || c.Reason != "content differs" {
		t.Errorf("%q → %q, %s", it.Before, it.After, c.Reason)
	}
	wantFile(t, path, "two\n", 0o644, 12)
}

func TestFileShowsNoSecretAndNoBinary(t *testing.T) {
	h, root := onDisk(t)
	ok(t, os.WriteFile(root+"/key", []byte("old password"), 0o600), os.WriteFile(root+"/tool", []byte("text"), 0o600))
	key := File{Path: "/key", Content: []byte("new password"), Mode: 0o600, Meta: Meta{Secret: true}}
	c := plan(t, key, h.Live.View())
	wantLines(t, c, "~ file:/key, content secret→another secret")
	absent := key
	absent.Path = "/other"
	for _, it := range append(c.Items, plan(t, absent, h.Live.View()).Items...) {
		if it.Before != nil || it.After != nil {
			t.Errorf("shown: %q %q", it.Before, it.After)
		}
	}
	tool := File{Path: "/tool", Content: []byte("\x7fELF\x00"), Mode: 0o600}
	if it := plan(t, tool, h.Live.View()).Items[0]; it.Before != nil || it.After != nil {
		t.Errorf("shown: %q %q", it.Before, it.After)
	}
	converge(t, h, key)
	converge(t, h, tool)

	// If others may not read a file and the wanted file is for all, the plan no longer shows its
	// content, unless the task says that the file is no secret.
	ok(t, os.WriteFile(root+"/conf", []byte("token"), 0o640))
	conf := File{Path: "/conf", Content: []byte("none"), Mode: 0o644}
	c = plan(t, conf, h.Live.View())
	wantLines(t, c, "~ file:/conf, content secret→sha256 140bedbf9c3f, 4 bytes, mode 0640→0644")
	if it := c.Items[0]; it.Before != nil || it.After != nil {
		t.Errorf("shown: %q %q", it.Before, it.After)
	}
	conf.Mode = 0o600
	if it := plan(t, conf, h.Live.View()).Items[0]; string(it.Before) != "token" || string(it.After) != "none" {
		t.Errorf("shown: %q %q", it.Before, it.After)
	}
}

func TestFileInTheWay(t *testing.T) {
	h, root := onDisk(t)
	ok(t, os.Mkdir(root+"/dir", 0o755), os.Symlink("dir", root+"/link"), unix.Mkfifo(root+"/pipe", 0o600))
	var way *hostpath.InTheWayError
	if err := wantError(t, File{Path: "/dir"}, h.Live.View(), "a directory is in the way of the file", "mv /dir /dir.old"); !errors.As(err, &way) {
		t.Errorf("the error is %T", err)
	}
	wantError(t, File{Path: "/pipe"}, h.Live.View(), "a device, pipe or socket is in the way")
	c := converge(t, h, File{Path: "/link", Content: []byte("x"), Mode: 0o644})
	wantLines(t, c, "~ file:/link, type symlink→file, mode →0644, owner →root:root")
	// A parent that cannot be a directory is an error before anything is written (path_access.go:
	// missingParents).
	ok(t, os.Symlink("nowhere", root+"/lost"))
	wantError(t, File{Path: "/lost/file"}, h.Live.View(), "/lost: it is a symlink whose target does not exist")
	wantError(t, Directory{Path: "/lost/a/b"}, h.Live.View(), "/lost: it is a symlink whose target does not exist")
}

func TestFileOnAPlannedDirectory(t *testing.T) {
	h, _ := onDisk(t)
	d := Directory{Path: "/etc", Mode: 0o755}
	pending := host.NewPending(nil)
	pending.Add(plan(t, d, h.Live.View()).Pending...)
	wantLines(t, plan(t, File{Path: "/etc/a/f", Mode: 0o644}, pending.Over(h.Live.View())),
		"+ file:/etc/a, type →directory, mode →0755, owner →root:root", "+ file:/etc/a/f, mode →0644, owner →root:root")
}

func TestSymbolicLink(t *testing.T) {
	h, root := onDisk(t)
	l := SymbolicLink{Path: "/opt/cni/bin", Target: "/usr/lib/cni"}
	wantLines(t, converge(t, h, l), "+ file:/opt, type →directory, mode →0755, owner →root:root", "+ file:/opt/cni, type →directory, mode →0755, owner →root:root",
		"+ file:/opt/cni/bin, target →/usr/lib/cni")
	l.Target = "../lib"
	wantLines(t, converge(t, h, l), "~ file:/opt/cni/bin, target /usr/lib/cni→../lib")
	if got, err := os.Readlink(root + l.Path); err != nil || got != "../lib" {
		t.Errorf("Readlink returns %q, %v, want %q", got, err, "../lib")
	}
	ok(t, os.WriteFile(root+"/real", nil, 0o644))
	wantError(t, SymbolicLink{Path: "/real", Target: "x"}, h.Live.View(), "a file is in the way of the symlink", "mv /real /real.old")
	wantError(t, SymbolicLink{Path: "/opt", Target: "x"}, h.Live.View(), "a directory is in the way of the symlink")
}
