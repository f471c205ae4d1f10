package torture

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/child"
)

// mountsEnv marks a process that runs one test in a mount namespace of its own. Its value is the
// file for the rows of that test.
const mountsEnv = "NETWRIGHT_TORTURE_MOUNTS"

// inOwnMounts runs the calling test again in a process with a mount namespace of its own. That
// process cannot reach the machine's mounts, and all its mounts are gone with it, however it ends.
// inOwnMounts returns true in that process. Otherwise the caller returns.
func inOwnMounts(t *testing.T) bool {
	t.Helper()
	if rows := os.Getenv(mountsEnv); rows != "" {
		t.Cleanup(func() {
			data, err := json.Marshal(table.rows)
			if err == nil {
				err = os.WriteFile(rows, data, 0o600)
			}
			if err != nil {
				t.Error(err)
			}
		})
		return true
	}
	rows := filepath.Join(t.TempDir(), "rows")
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.timeout=6h", "-test.v")
	cmd.Env = append(os.Environ(), mountsEnv+"="+rows)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	out, err := child.Output(cmd)
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
	var list []row
	if data, err := os.ReadFile(rows); err == nil {
		if err := json.Unmarshal(data, &list); err != nil {
			t.Error(err)
		}
	}
	table.Lock()
	table.rows = append(table.rows, list...)
	table.Unlock()
	return false
}

// tmpfs mounts a file system in memory until the test ends.
func tmpfs(t testing.TB, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}
