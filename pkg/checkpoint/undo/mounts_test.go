package undo

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/hostroot"
)

// At a boot an undo writes nothing below a mount point whose file system is not mounted yet, such
// as one of a server. The file would be on the disk below, and the file on the server would stay as
// the change left it. If another undo follows, the first one waits. The last one reports what it
// left. The lines that keep it: capture.go, file (Mounts); restore.go, mounted.
func TestUndoAtABootWaitsForAMount(t *testing.T) {
	root, h := openRoot(t)
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	server := t.TempDir()
	must(os.MkdirAll(root+"/srv/shared", 0o755), unix.Mount("tmpfs", server, "tmpfs", 0, ""))
	t.Cleanup(func() { must(unix.Unmount(server, unix.MNT_DETACH)) })
	mount := func() { t.Helper(); must(unix.Mount(server, root+"/srv/shared", "", unix.MS_BIND, "")) }
	mounted := true
	unmount := func() {
		if mounted {
			must(unix.Unmount(root+"/srv/shared", unix.MNT_DETACH))
		}
		mounted = false
	}
	mount()
	t.Cleanup(unmount)

	paths := []string{"/etc/here", "/srv/shared/d/there", "/srv/shared/new"}
	for _, name := range paths[:2] {
		hostroot.Put(t, root, name, "old")
	}
	var l Log
	c := Capture{Host: h, Log: &l, Twin: func(string) string { return "" }}
	for _, name := range append(paths, "/srv/shared", "/srv/shared/d") {
		must(c.file(name))
	}
	for _, name := range paths {
		hostroot.Put(t, root, name, "changed")
	}
	journal, err := json.Marshal(l)
	must(err)
	l = Log{}
	must(json.Unmarshal(journal, &l), os.Chmod(root+"/srv/shared", 0o711))
	unmount()
	for _, waits := range []bool{true, false} {
		r := Restore(h, &l, true)
		r.Waits = waits
		err := r.Files(t.Context())
		if (err == nil) == waits || waits && !strings.Contains(err.Error(), "restore /srv/shared/d/there: /srv/shared: what was mounted there before the change is missing") || waits != (len(r.Left) == 0) {
			t.Errorf("waits %v: %v, left %q", waits, err, r.Left)
		}
		if names, err := os.ReadDir(root + "/srv/shared"); len(names) > 0 || err != nil {
			t.Errorf("below the mount point: %v, %v", names, err)
		}
		if got := hostroot.Read(t, root, "/etc/here"); got != "old" {
			t.Errorf("what needs no mount is %q", got)
		}
	}
	mount()
	mounted = true
	r := Restore(h, &l, true)
	r.Waits = true
	must(r.Files(t.Context()))
	if got := hostroot.Read(t, root, "/srv/shared/d/there"); got != "old" || hostroot.There(root, "/srv/shared/new") || len(r.Left) > 0 {
		t.Errorf("mounted: %q, left %q", got, r.Left)
	}
	var st unix.Stat_t
	if must(unix.Stat(root+"/srv/shared", &st)); st.Mode&0o777 == 0o711 {
		t.Error("the directory that is mounted has the mode of the change")
	}
}
