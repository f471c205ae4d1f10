package host

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// kernel reads what the running kernel says of itself below /proc and /sys. It
// does so directly, not through [Files]: procfs is no tree that one may leave.
type kernel struct {
	live bool   // false: an image, no kernel behind it
	proc string // "/proc", elsewhere in tests
	sys  string // "/sys"
	lib  string // "/lib/modules"

	release string // as uname -r
	// What is on disk for this release, and what file systems it had when
	// first asked: loading a module is seen in sysfs.
	index       sync.Once
	builtin     []byte // modules.builtin
	deps        []byte // modules.dep
	filesystems []byte // /proc/filesystems
}

func openKernel(opt Options, _ *files) *kernel {
	k := &kernel{live: opt.live(), proc: "/proc", sys: "/sys", lib: "/lib/modules"}
	var uts unix.Utsname
	if k.live && unix.Uname(&uts) == nil {
		k.release = unix.ByteSliceToString(uts.Release[:])
	}
	return k
}

// Sysctl implements [Kernel]. The keys of net.* are those of the calling
// thread's network namespace: /proc/sys looks at who reads.
func (k *kernel) Sysctl(key string) (string, error) {
	if !k.live {
		return "", fmt.Errorf("read sysctl %s: %w", key, sys.ErrNotHere)
	}
	canonical, err := CanonicalSysctl(key)
	if err != nil {
		return "", err
	}
	raw, err := sys.ReadKernelFile(k.sysctlFile(canonical))
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return "", fmt.Errorf("read sysctl %s: %w", key, ErrNotExist)
	case err != nil:
		return "", fmt.Errorf("read sysctl %s: %w", key, err)
	}
	return sys.FoldSpace(string(raw)), nil
}

func (k *kernel) sysctlFile(canonical string) string {
	return k.proc + "/sys/" + sysctlPath(canonical)
}
