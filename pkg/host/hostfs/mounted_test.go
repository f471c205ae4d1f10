package hostfs

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// A program below a noexec mount cannot run, whether its directory exists or not. A program beside
// the mount can. The mount options of an image here say nothing about a host that boots from it.
func TestRunnable(t *testing.T) {
	needs.Root(t)
	at, live := t.TempDir(), openImage(t, Options{Root: "/"})
	must(t, os.Mkdir(at+"/sealed", 0o755))
	mount(t, "tmpfs", at+"/sealed", "tmpfs", unix.MS_NOEXEC, "")
	for _, name := range []string{at + "/sealed/agent", at + "/sealed/not/there/agent"} {
		if err := live.Runnable(name); err == nil || !strings.Contains(err.Error(), "run "+name+": its file system is mounted noexec") {
			t.Errorf("Runnable(%s): %v", name, err)
		}
	}
	if err := live.Runnable(at + "/beside/agent"); err != nil {
		t.Errorf("Runnable beside the mount: %v", err)
	}
	if err := openImage(t, Options{Root: at + "/sealed"}).Runnable("/usr/bin/agent"); err != nil {
		t.Errorf("Runnable in an image: %v", err)
	}
}

// A namespace has a file that nobody can read. Its record says so, and that is no error.
func TestCaptureOfANamespace(t *testing.T) {
	needs.Root(t)
	h, root := image(t)
	must(t, os.WriteFile(root+"/net", nil, 0o600))
	mount(t, "/proc/self/ns/net", root+"/net", "", unix.MS_BIND, "")
	if c, err := h.Capture("/net", 1<<20); err != nil || c.Type != Other || c.Content != nil {
		t.Errorf("Capture: %+v, %v", c, err)
	}
}
