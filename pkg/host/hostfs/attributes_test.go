package hostfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// Attributes are read and set on files and directories, in one step with the content, and
// capabilities survive the change of owner. The lines that keep it: batch_staged.go, Close
// (attributes after the owner); pkg/host/hostfs/xattr/xattr.go, portable.
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
	must(t, h.WriteFileWith(context.Background(), "/g", []byte("y"), FileSpec{Mode: 0o755, UID: 12, GID: 34}, attrs))
	must(t, h.SetAttributes("/d", attrs))
	for _, path := range []string{"/g", "/d"} {
		buf := make([]byte, 64)
		n, err := unix.Getxattr(root+path, "security.capability", buf)
		if err != nil || string(buf[:n]) != string(netRaw) {
			t.Errorf("capabilities of %s: %x, %v", path, buf[:max(n, 0)], err)
		}
	}
}
