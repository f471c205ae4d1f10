package kernel

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/test/netns"
)

// A value of a few bytes or of several pages is set, read and kept for an undo as a whole, wherever
// a page ends in it. A short value replaces it. The lines that keep it:
// pkg/host/internal/sys/kernel_file.go, ReadOpenValue (default) and WriteKernelFile (',').
func TestALongSysctlIsSetAndReadWhole(t *testing.T) {
	const key = ReservedPorts
	netns.New(t).Do(func() {
		h := NewWriter(Open(true), Options{})
		for _, c := range []struct{ first, last int }{
			{1, 3}, {1025, 2000}, {1025, 4000}, {7, 4000}, {97, 4000}, {95, 4000}, {997, 4000}, {9001, 29000}, {1, 3},
		} {
			var ports []string
			for port := c.first; port < c.last; port += 2 {
				ports = append(ports, strconv.Itoa(port))
			}
			want := strings.Join(ports, ",")
			if err := h.SetSysctl(t.Context(), key, want); err != nil {
				t.Errorf("%d bytes: %.200v", len(want), err)
			}
			// A program that is not ours reads it, in this thread's namespace.
			if out, err := exec.Command("cat", "/proc/sys/"+SysctlPath(key)).Output(); err != nil || string(out) != want+"\n" {
				t.Errorf("the kernel has %d bytes of %d: %v", len(out), len(want), err)
			}
			if got, err := h.kernel.Sysctl(key); err != nil || got != want {
				t.Errorf("%d bytes of %d were read: %v", len(got), len(want), err)
			}
			if got := h.NetSysctls(t.Context())[key]; got != want {
				t.Errorf("%d bytes of %d are kept for an undo", len(got), len(want))
			}
		}
	})
}

// The kernel may take only a part of a value that is no list of ranges. Then that is an error, and
// the rest is not written: the kernel would silently ignore a second write, or read it as the first
// number. The line that keeps it: pkg/host/internal/sys/kernel_file.go, WriteKernelFile (',').
func TestAShortWriteIsAnError(t *testing.T) {
	netns.New(t).Do(func() {
		const path = "/proc/sys/net/ipv4/tcp_rmem"
		err := sys.WriteKernelFile(path, "4096 8192 16384 7")
		if !errors.Is(err, unix.EINVAL) || !strings.Contains(err.Error(), "only 16 of 18 bytes") {
			t.Errorf("four numbers where the kernel has three: %v", err)
		}
		if got, err := sys.ReadKernelValue(path); err != nil || sys.FoldSpace(string(got)) != "4096 8192 16384" {
			t.Errorf("then the kernel has %q: %v", got, err)
		}
	})
}
