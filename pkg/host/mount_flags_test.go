package host

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/watch"
	"github.com/netwright/netwright/test/needs"
)

// A directory of programs becomes noexec on the host. The agent's service has its own copy of the
// host's mounts (PrivateMounts=), to which the kernel copies mounts and not flags. It gets an event
// all the same, and finds that the program cannot run. The lines that keep it:
// pkg/host/watch/mounts.go, set and state (list); pkg/host/hostfs/writable.go, Runnable
// (sealed).
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
			mount -o remount,bind,noexec "$1/bin"; wait $service`, "sh", dir, self)
		host.Env = append(os.Environ(), within+"="+dir)
		if out, err := host.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	files, err := hostfs.Open(hostfs.Options{Root: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close() // only read
	w := watch.New(watch.Options{})
	defer w.Close()
	program := dir + "/bin/bridge"
	w.Set(watch.Interest{Paths: []string{program}})
	if err := files.Runnable(program); err != nil {
		t.Error(err)
	}
	write(t, dir+"/ready", "")
	select {
	case <-w.Events():
	case <-time.After(5 * time.Second):
		t.Error("no event")
	}
	want := "run " + program + ": its file system is mounted noexec"
	if err := files.Runnable(program); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the program can run: %v", err)
	}
}
