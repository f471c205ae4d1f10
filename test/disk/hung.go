package disk

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// Hung returns a directory whose file system answers no call: a FUSE file system that no program
// serves. Calls that wait for it return with an error when the test ends.
func Hung(t testing.TB) string {
	t.Helper()
	needs.Root(t)
	dir := t.TempDir()
	conn, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		needs.Missing(t, "FUSE: "+err.Error())
	}
	options := fmt.Sprintf("fd=%d,rootmode=40755,user_id=0,group_id=0", conn.Fd())
	if err := unix.Mount("hung", dir, "fuse", 0, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		conn.Close()
	})
	return dir
}
