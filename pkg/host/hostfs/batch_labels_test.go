package hostfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/xattr"
	"github.com/netwright/netwright/test/needs"
)

// TestLabelsWithoutPolicy: without SELinux most kernels let only CAP_SYS_ADMIN set a label, and the
// agent must work without it.
func TestLabelsWithoutPolicy(t *testing.T) {
	needs.Root(t)
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	for _, path := range []string{old, fresh} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	label := []byte("system_u:object_r:etc_t:s0\x00")
	if err := unix.Setxattr(old, "security.selinux", label, 0); errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
		t.Skipf("this file system, or a policy that runs, takes no such label: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(old, "user.note", []byte("kept"), 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
		t.Fatal(err)
	}
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	to, err := unix.Open(fresh, unix.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(to)
	if err := sys.OnThread(func() error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var caps [2]unix.CapUserData
		if err := unix.Capget(&header, &caps[0]); err != nil {
			return err
		}
		caps[0].Effective &^= 1 << unix.CAP_SYS_ADMIN
		if err := unix.Capset(&header, &caps[0]); err != nil {
			return err
		}
		return xattr.CopyLabels(at, "old", to)
	}); err != nil {
		t.Errorf("a file with a label cannot be replaced: %v", err)
	}
	if _, err := unix.Getxattr(fresh, "user.note", make([]byte, 16)); err != nil && !errors.Is(err, unix.ENOTSUP) {
		t.Errorf("the other attributes were not copied: %v", err)
	}
}
