package hostfs

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// A program cannot be run below a mount with noexec, whether its directory is there or not, and can
// be run beside it.
func TestRunnable(t *testing.T) {
	needs.Root(t)
	h, root := image(t)
	must(t, os.Mkdir(root+"/sealed", 0o755))
	mount(t, "tmpfs", root+"/sealed", "tmpfs", unix.MS_NOEXEC, "")
	for _, name := range []string{"/sealed/agent", "/sealed/not/there/agent"} {
		if err := h.Runnable(name); err == nil || !strings.Contains(err.Error(), "run "+name+": its file system is mounted noexec") {
			t.Errorf("Runnable(%s): %v", name, err)
		}
	}
	if err := h.Runnable("/beside/agent"); err != nil {
		t.Errorf("Runnable beside the mount: %v", err)
	}
}

// A namespace has a file that nobody can read: how it is taken down says so, and is no error.
func TestCaptureOfANamespace(t *testing.T) {
	needs.Root(t)
	h, root := image(t)
	must(t, os.WriteFile(root+"/net", nil, 0o600))
	mount(t, "/proc/self/ns/net", root+"/net", "", unix.MS_BIND, "")
	if c, err := h.Capture("/net", 1<<20); err != nil || c.Type != Other || c.Content != nil {
		t.Errorf("Capture: %+v, %v", c, err)
	}
}
