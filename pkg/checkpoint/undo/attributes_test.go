package undo

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/test/needs"
)

// An undo restores ACLs and capabilities, of small files, of large ones and of directories. The
// group bits of a mode are an ACL's mask, and without the ACL the group could write. A journal of a
// release that kept none is undone as before. The lines that keep it: capture.go, file (Attrs);
// restore.go, restore; pkg/host/hostfs/backup.go, Restore.
func TestUndoBringsAttributesBack(t *testing.T) {
	root, h := openRoot(t)
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	attrs := map[string]string{
		// The ACL is u::rwx u:1234:rw g::--- m::rw o::---, see
		// include/uapi/linux/posix_acl_xattr.h.
		"system.posix_acl_access": "\x02\x00\x00\x00" + "\x01\x00\x07\x00\xff\xff\xff\xff" +
			"\x02\x00\x06\x00\xd2\x04\x00\x00" + "\x04\x00\x00\x00\xff\xff\xff\xff" +
			"\x10\x00\x06\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff",
		// The capability is cap_net_raw=ep, see include/uapi/linux/capability.h.
		"security.capability": "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
	}
	paths := []string{"/d", "/d/small", "/d/chmod", "/d/large"}
	must(os.Mkdir(root+"/d", 0o700), os.Mkdir(root+"/kept", 0o700))
	for _, name := range paths[1:] {
		must(os.WriteFile(root+name, []byte("old"), 0o600))
	}
	for _, name := range paths {
		must(os.Chown(root+name, 0, 777))
		for attr, value := range attrs {
			if err := unix.Setxattr(root+name, attr, []byte(value), 0); errors.Is(err, unix.ENOTSUP) {
				needs.Missing(t, "needs a file system with ACLs: "+err.Error())
			} else if name != "/d" || attr != "security.capability" {
				must(err)
			}
		}
	}
	var l Log
	c := Capture{Host: h, Log: &l, Dir: "/kept", Twin: func(string) string { return "" }}
	must(c.file(paths[0]), c.file(paths[1]), c.file(paths[2]))
	c.contents = maxContents
	must(c.file(paths[3]), c.SaveFiles(t.Context()))
	journal, err := json.Marshal(l)
	must(err)
	l = Log{}
	must(json.Unmarshal(journal, &l))

	change := func() {
		must(h.Files.RemoveTree(t.Context(), "/d"), os.Mkdir(root+"/d", 0o755),
			os.WriteFile(root+"/d/small", []byte("new"), 0o644), os.WriteFile(root+"/d/chmod", []byte("old"), 0o644))
	}
	change()
	r := Restore(h, &l, false)
	must(r.Files(t.Context()))
	for _, name := range paths {
		var st unix.Stat_t
		must(unix.Lstat(root+name, &st))
		if st.Mode&0o777 != 0o760 || st.Gid != 777 {
			t.Errorf("%s: mode %o, group %d", name, st.Mode&0o777, st.Gid)
		}
		for attr, value := range attrs {
			buf := make([]byte, 99)
			if n, err := unix.Getxattr(root+name, attr, buf); (err != nil || string(buf[:n]) != value) &&
				(name != "/d" || attr != "security.capability") {
				t.Errorf("%s: %s is %q, %v", name, attr, buf[:max(n, 0)], err)
			}
		}
	}

	for i := range l.Files {
		l.Files[i].Attrs = nil
	}
	if older, err := json.Marshal(l); err != nil || bytes.Contains(older, []byte("attrs")) {
		t.Errorf("a file without attributes: %s, %v", older, err)
	}
	change()
	must(r.Files(t.Context()))
	if got, err := os.ReadFile(root + "/d/small"); err != nil || string(got) != "old" || len(r.Left) > 0 {
		t.Errorf("without attributes: %q, %v, left %q", got, err, r.Left)
	}
	if info, err := h.Live.Files.Lstat("/d/small"); err != nil || info.Type != hostfs.Regular || info.Mode != 0o760 {
		t.Errorf("without attributes: %+v, %v", info, err)
	}
}

// An undo restores a symlink whose target is no UTF-8, from its journal in JSON. The lines that
// keep it: capture.go, file (RawTarget); restore.go, restore (RawTarget).
func TestUndoBringsATargetOfBytesBack(t *testing.T) {
	root, h := openRoot(t)
	const target = "/opt/\xff\xfe"
	c := Capture{Host: h, Log: &Log{}, Twin: func(string) string { return "" }}
	err := errors.Join(os.Symlink(target, root+"/link"), c.file("/link"), h.Files.Remove("/link"))
	journal, errJSON := json.Marshal(c.Log)
	var l Log
	if err := errors.Join(err, errJSON, json.Unmarshal(journal, &l), Restore(h, &l, false).Files(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got, err := os.Readlink(root + "/link"); err != nil || got != target {
		t.Errorf("Readlink returns %q, %v, want %q", got, err, target)
	}
}
