package hostfs

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// The advice names the file itself, because its directory does not show what prevents the write: a
// mount on the file, or a flag of the file. The line that keeps it: pkg/host/hostpath/error.go,
// advices.
func TestAdviceNamesTheFile(t *testing.T) {
	needs.Root(t)
	needs.Tool(t, "chattr")
	h, root := image(t)
	for _, name := range []string{"source", "covered", "fixed", "leased"} {
		must(t, os.WriteFile(root+"/"+name, []byte("old"), 0o644))
	}
	mount(t, root+"/source", root+"/covered", "", unix.MS_BIND, "")
	must(t, unix.Mount("", root+"/covered", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	must(t, exec.Command("chattr", "+i", root+"/fixed").Run())
	defer func() { must(t, exec.Command("chattr", "-i", root+"/fixed").Run()) }()
	for name, advice := range map[string]string{"/covered": "findmnt /covered", "/fixed": "lsattr -d /fixed "} {
		if err := h.Writable(name, 1); err == nil || !strings.Contains(err.Error(), advice) {
			t.Errorf("Writable(%s) says no %q: %v", name, advice, err)
		}
		if err := h.WriteFile(t.Context(), name, []byte("new"), self(0o644)); err == nil || !strings.Contains(err.Error(), advice) {
			t.Errorf("WriteFile(%s) says no %q: %v", name, advice, err)
		}
	}
	holder, err := os.OpenFile(root+"/leased", os.O_RDWR, 0)
	must(t, err)
	defer holder.Close()
	if _, err := unix.FcntlInt(holder.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		needs.Missing(t, "a file system below "+os.TempDir()+" that has leases: "+err.Error())
	}
	if _, err := h.ReadFile("/leased"); err == nil || !strings.Contains(err.Error(), "/proc/locks") {
		t.Errorf("a leased file: %v", err)
	}
}
