package netns

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/child"
	"github.com/netwright/netwright/test/needs"
)

const aloneEnv = "NETWRIGHT_TEST_ALONE"

// Alone runs the calling test again in a process with its own network and mount namespace, for all
// threads, and with tmpfs on the given directories. It is for code that writes below / or uses the
// network from several goroutines. It returns true in that process; otherwise the caller must
// return.
func Alone(t *testing.T, dirs ...string) bool {
	t.Helper()
	needs.Root(t)
	needs.Tool(t, "ip", "nft")
	if os.Getenv(aloneEnv) == t.Name() {
		for _, dir := range dirs {
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=128m"); err != nil {
				t.Fatalf("mount memory on %s: %v", dir, err)
			}
		}
		if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return true
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), aloneEnv+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET}
	if out, err := child.Output(cmd); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// Shell runs a script that must succeed, and returns its output.
func Shell(t testing.TB, script string) string {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-ec", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, script)
	}
	return string(out)
}
