package host

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/watch"
	"github.com/netwright/netwright/test/needs"
)

// A directory becomes noexec and read-only on the host. The agent's service has its own copy of the
// host's mounts (PrivateMounts=), to which the kernel copies mounts and not flags. It gets an event
// all the same, finds that no program there can run, and writes nothing there. The lines that keep
// it: pkg/host/watch/mounts.go, set and state (list); pkg/host/hostfs/host_mounts.go, have.
func TestAFlagOfTheHostsMounts(t *testing.T) {
	needs.Root(t)
	needs.Tool(t, "unshare", "mount")
	const within = "NETWRIGHT_TEST_MOUNT_FLAGS" // the directory, in the service
	dir := os.Getenv(within)
	if dir == "" {
		dir = t.TempDir()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		host := exec.CommandContext(t.Context(), "unshare", "--pid", "--fork", "--mount", "--mount-proc", "--propagation", "shared",
			"sh", "-ec", `mount -t tmpfs none "$1"; mkdir "$1/bin"; mount --bind "$1/bin" "$1/bin"
			unshare --mount --propagation slave "$2" -test.run='^TestAFlagOfTheHostsMounts$' & service=$!
			until [ -e "$1/ready" ] || ! kill -0 $service; do sleep 0.02; done
			mount -o remount,bind,noexec,ro "$1/bin"; wait $service`, "sh", dir, self)
		host.Env = append(os.Environ(), within+"="+dir)
		if out, err := host.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	program := dir + "/bin/bridge"
	look := func() (run, write, remove error) {
		files, err := hostfs.Open(hostfs.Options{Root: "/"})
		if err != nil {
			t.Fatal(err)
		}
		defer files.Close() // only read
		return files.Runnable(program), files.Writable(program, 1), files.Removable(program)
	}
	w := watch.New(watch.Options{})
	defer w.Close()
	w.Set(watch.Interest{Paths: []string{program}})
	if run, write, remove := look(); run != nil || write != nil || remove != nil {
		t.Errorf("a usual mount: run %v, write %v, remove %v; want no errors", run, write, remove)
	}
	write(t, dir+"/ready", "")
	select {
	case <-w.Events():
	case <-time.After(time.Minute): // only so that a test that hangs ends
		t.Error("no event")
	}
	run, put, remove := look()
	if want := "run " + program + ": its file system is mounted noexec"; run == nil || !strings.Contains(run.Error(), want) {
		t.Errorf("the program can run: %v", run)
	}
	if !errors.Is(put, unix.EROFS) || !errors.Is(remove, unix.EROFS) {
		t.Errorf("the program can be written or removed: %v, %v", put, remove)
	}
}
