package watch

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// A mount over a directory to which only a link leads causes an event, and so does a write in it.
// The lines that keep it: mounts.go, state; files_dirs.go, leads.
func TestMountWhereALinkLeads(t *testing.T) {
	needs.Root(t)
	const within = "NETWRIGHT_TEST_MOUNTS" // the directory, in a mount namespace of its own
	dir := os.Getenv(within)
	if dir == "" {
		self := exec.Command("/proc/self/exe", "-test.run=^TestMountWhereALinkLeads$")
		self.Env = append(os.Environ(), within+"="+t.TempDir())
		self.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
		if out, err := self.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	noError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), os.MkdirAll(dir+"/real/net.d", 0o755),
		os.MkdirAll(dir+"/tree/net.d", 0o755), os.Mkdir(dir+"/leaf", 0o755), os.Symlink("real", dir+"/cni"))
	w := watching(t, Options{Sandbox: true}, Interest{Paths: []string{dir + "/cni/net.d/a"}})
	for _, bind := range [][2]string{{"/tree", "/real"}, {"/leaf", "/real/net.d"}} {
		noError(t, unix.Mount(dir+bind[0], dir+bind[1], "", unix.MS_BIND, ""))
		awaitWake(t, w, Mounts, "")
		noError(t, os.WriteFile(dir+"/cni/net.d/a", nil, 0o644))
		awaitWake(t, w, Files, dir+"/real/net.d/a")
	}
	noError(t, unix.Unmount(dir+"/real/net.d", 0))
	awaitWake(t, w, Mounts, "")
	noError(t, os.Remove(dir+"/cni/net.d/a"))
	awaitWake(t, w, Files, dir+"/real/net.d/a")
}
