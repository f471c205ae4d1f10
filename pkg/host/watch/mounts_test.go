package watch

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// inMounts runs a test again in a mount namespace of its own, and there returns a directory.
func inMounts(t *testing.T) (dir string) {
	needs.Root(t)
	const within = "NETWRIGHT_TEST_MOUNTS" // the directory
	if dir = os.Getenv(within); dir != "" {
		noError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		return dir
	}
	self := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	self.Env = append(os.Environ(), within+"="+t.TempDir())
	self.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if out, err := self.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return ""
}

// On a node with many mounts the mounts of pods have the list read once in a pause, which grows
// with the list, and a read allocates next to nothing. The lines that keep it: mounts.go, pause,
// state.
func TestMountsOfPodsAreReadSeldom(t *testing.T) {
	dir := inMounts(t)
	if dir == "" {
		return
	}
	mount := func(at string) {
		t.Helper()
		noError(t, os.MkdirAll(dir+at, 0o755), unix.Mount("none", dir+at, "tmpfs", 0, ""))
	}
	for n := range 1000 {
		mount(fmt.Sprintf("/pods/%d", n))
	}
	w := watching(t, Options{Sandbox: true}, Interest{Paths: []string{dir + "/net.d/a"}})
	i := slices.IndexFunc(w.sources, func(s source) bool { return s.name() == Mounts })
	m := w.sources[i].(*mountWatch)
	list, err := os.ReadFile("/proc/self/mountinfo")
	noError(t, err)
	size := len(list)
	pause := (&mountWatch{size: size}).pause()
	if pause < 2*mountPause {
		t.Fatalf("with 1000 mounts, %d bytes, the pause is %s", size, pause)
	}
	began, before := time.Now(), bytesRead(t)
	for time.Since(began) < 10*pause {
		mount("/pod")
		noError(t, unix.Unmount(dir+"/pod", 0))
		time.Sleep(time.Millisecond)
	}
	lists, most := (bytesRead(t)-before)/size, int(time.Since(began)/pause)+2
	if lists > most {
		t.Errorf("the list of mounts was read %d times, want at most %d", lists, most)
	}
	mount("/net.d")
	awaitWake(t, w, Mounts, "")
	noError(t, w.Close())
	noError(t, m.open())
	defer m.mounts.Close()
	defer m.close()
	if objects := testing.AllocsPerRun(3, func() { _, _ = m.state() }); objects > 5 {
		t.Errorf("a read of the list allocates %v objects, want one for the reader", objects)
	}
}

// bytesRead returns how many bytes this process has read so far.
func bytesRead(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	noError(t, err)
	_, err = fmt.Sscanf(string(text), "rchar: %d", &n)
	noError(t, err)
	return n
}

// A mount over a directory to which only a link leads causes an event, and so does a write in it.
// The lines that keep it: mounts.go, state; files_dirs.go, leads.
func TestMountWhereALinkLeads(t *testing.T) {
	dir := inMounts(t)
	if dir == "" {
		return
	}
	noError(t, os.MkdirAll(dir+"/real/net.d", 0o755),
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
