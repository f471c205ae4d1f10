package hostfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// Attributes of files and directories are read and set, in one step with the content. Capabilities
// stay after a change of the owner. The lines that keep it: filespec.go, setMeta (attributes after
// the owner); pkg/host/xattr/xattr.go, portable.
func TestAttributesComeWithTheFile(t *testing.T) {
	needs.Root(t) // capabilities and owners
	h, root := image(t)
	must(t, os.WriteFile(root+"/f", []byte("x"), 0o644))
	must(t, os.Mkdir(root+"/d", 0o755))
	must(t, os.Symlink("f", root+"/l"))
	if err := unix.Setxattr(root+"/f", "user.note", []byte("kept"), 0); err != nil {
		needs.Missing(t, "needs a file system with user attributes: "+err.Error())
	}
	netRaw := []byte{1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // cap_net_raw=ep, include/uapi/linux/capability.h
	must(t, unix.Setxattr(root+"/f", "security.capability", netRaw, 0))
	must(t, unix.Setxattr(root+"/d", "user.note", []byte("of a directory"), 0))
	attrs, err := h.Attributes("/f")
	must(t, err)
	if diff := cmp.Diff(map[string][]byte{"user.note": []byte("kept"), "security.capability": netRaw}, attrs); diff != "" {
		t.Errorf("attributes of /f:\n%s", diff)
	}
	if got, err := h.Attributes("/l"); err != nil || got != nil {
		t.Errorf("a symlink's attributes: %v, %v", got, err)
	}
	if _, err := h.Attributes("/absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of an absent file: %v", err)
	}
	must(t, h.WriteFile(context.Background(), "/g", []byte("y"), FileSpec{Mode: 0o755, UID: 12, GID: 34, Attrs: attrs}))
	must(t, h.SetAttributes("/d", attrs))
	for _, path := range []string{"/g", "/d"} {
		buf := make([]byte, 64)
		n, err := unix.Getxattr(root+path, "security.capability", buf)
		if err != nil || string(buf[:n]) != string(netRaw) {
			t.Errorf("capabilities of %s: %x, %v", path, buf[:max(n, 0)], err)
		}
	}
}

// acl is system.posix_acl_access (include/uapi/linux/posix_acl_xattr.h): the owner and user 1234
// may read and write, group and others nothing. Its mask makes mode 0660.
var acl = []byte("\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x06\x00\xd2\x04\x00\x00" +
	"\x04\x00\x00\x00\xff\xff\xff\xff" + "\x10\x00\x06\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff")

// An edit keeps the ACL. The group bits of the mode are its mask, and without the ACL the group
// would get rights that the ACL denies. Capabilities belonged to the old content and are not kept.
// The lines that keep it: edit.go, editOnce (Attrs); filespec.go, setMeta (the mode last).
func TestAnEditKeepsTheACL(t *testing.T) {
	needs.Root(t)
	h, root := image(t)
	must(t, os.WriteFile(root+"/f", []byte("old"), 0o600), os.Chown(root+"/f", 0, 777))
	if err := unix.Setxattr(root+"/f", "system.posix_acl_access", acl, 0); err != nil {
		needs.Missing(t, "needs a file system with ACLs: "+err.Error())
	}
	netRaw := []byte{1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	must(t, unix.Setxattr(root+"/f", "security.capability", netRaw, 0),
		h.EditFile(t.Context(), "/f", func([]byte) ([]byte, error) { return []byte("new"), nil }))
	info, err := h.Lstat("/f")
	must(t, err)
	attrs, err := h.Attributes("/f")
	must(t, err)
	if diff := cmp.Diff(map[string][]byte{"system.posix_acl_access": acl}, attrs); diff != "" || info.Mode != 0o660 ||
		info.GID != 777 {
		t.Errorf("mode %v, group %d, attributes:\n%s", info.Mode, info.GID, diff)
	}
}

// A file that was kept on a file system without attributes is restored with the wanted attributes.
// The lines that keep it: backup.go, Restore and retain (Attrs).
func TestACopyComesBackWithAttributes(t *testing.T) {
	needs.Root(t)
	h, root := image(t)
	must(t, os.Mkdir(root+"/ramfs", 0o755), h.WriteFile(t.Context(), "/f", []byte("old"), self(0o660)))
	mount(t, "ramfs", root+"/ramfs", "ramfs", 0, "")
	spec := FileSpec{Mode: 0o660, GID: 777, Attrs: map[string][]byte{"system.posix_acl_access": acl}}
	if err := h.SetAttributes("/f", spec.Attrs); errors.Is(err, unix.ENOTSUP) {
		needs.Missing(t, "needs a file system with ACLs: "+err.Error())
	}
	_, err := h.Retain(t.Context(), "/f", "/ramfs/kept")
	must(t, err, h.Remove("/f"), h.Restore(t.Context(), "/ramfs/kept", "/f", spec))
	attrs, err := h.Attributes("/f")
	must(t, err)
	if info, err := h.Lstat("/f"); err != nil || info.Mode != 0o660 || info.GID != 777 || !cmp.Equal(attrs, spec.Attrs) {
		t.Errorf("%+v, %v, attributes %q", info, err, attrs)
	}
}

// A new file has the access of its mode, also if its directory has a default ACL. Otherwise a user
// of that ACL could read a file of mode 0640, and the file's group could not. The lines that keep
// it: batch_staged.go, Close (DropACL); pkg/host/hostpath/walk.go, makePublic (DropACL).
func TestNewFilesInheritNoACL(t *testing.T) {
	needs.Root(t)
	h, root := image(t)
	must(t, os.Mkdir(root+"/d", 0o755))
	if err := unix.Setxattr(root+"/d", "system.posix_acl_default", acl, 0); err != nil {
		needs.Missing(t, "needs a file system with ACLs: "+err.Error())
	}
	spec := FileSpec{Mode: 0o640, GID: 777}
	b := h.Batch()
	b.Unnamed()
	must(t, h.WriteFile(t.Context(), "/d/f", nil, spec), b.Put("/d/unnamed", nil, spec), b.Commit(t.Context()),
		h.Mkdir("/d/sub", 0o750, 0, 777))
	for name, mode := range map[string]os.FileMode{"/d/f": 0o640, "/d/unnamed": 0o640, "/d/sub": 0o750} {
		info, err := h.Lstat(name)
		must(t, err)
		attrs, err := h.Attributes(name)
		must(t, err)
		if _, has := attrs["system.posix_acl_access"]; has || info.Mode != mode || info.GID != 777 {
			t.Errorf("%s: mode %v, group %d, attributes %q", name, info.Mode, info.GID, attrs)
		}
	}
}

// The ACL of a file on XFS is read once. Root with all capabilities also sees it under the name of
// XFS itself, which no unit of ours may set. A record of an earlier release with that name is no
// error. The lines that keep it: pkg/host/xattr/xattr.go, portable (trusted) and Set.
func TestAnACLOnXFSIsOne(t *testing.T) {
	h, root := imageWithXFS(t)
	must(t, os.WriteFile(root+"/xfs/f", nil, 0o640), os.WriteFile(root+"/xfs/g", nil, 0o640))
	must(t, unix.Setxattr(root+"/xfs/f", "system.posix_acl_access", acl, 0), unix.Setxattr(root+"/xfs/f", "trusted.other", []byte("x"), 0))
	attrs, err := h.Attributes("/xfs/f")
	must(t, err)
	if diff := cmp.Diff(map[string][]byte{"system.posix_acl_access": acl}, attrs); diff != "" {
		t.Errorf("attributes:\n%s", diff)
	}
	confined := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with it
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var sets [2]unix.CapUserData
		err := unix.Capget(&head, &sets[0])
		sets[0].Effective &^= 1 << unix.CAP_SYS_ADMIN
		attrs["trusted.SGI_ACL_FILE"] = acl
		confined <- errors.Join(err, unix.Capset(&head, &sets[0]), h.SetAttributes("/xfs/g", attrs))
	}()
	must(t, <-confined)
}
