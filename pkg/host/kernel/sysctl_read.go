package kernel

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// ErrNoValue means that a sysctl exists but has no value before its first write, such as
// net.ipv6.conf.*.stable_secret (net/ipv6/addrconf.c, addrconf_sysctl_stable_secret).
var ErrNoValue = errors.New("it has no value yet")

// errOnlyWritten means that the kernel acts at each write of a key and stores no value, as for
// net.ipv4.route.flush.
var errOnlyWritten = errors.New("the kernel acts at each write and keeps no value: remove the key from the " +
	"configuration, and write it by hand when that is needed")

// Sysctl implements host.Kernel. For net.* it reads the network namespace of the calling thread,
// because /proc/sys shows the namespace of the reader.
func (k *Reader) Sysctl(key string) (string, error) {
	if !k.Live {
		return "", fmt.Errorf("read sysctl %s: %w", key, sys.ErrNoLiveState)
	}
	canonical, err := CanonicalSysctl(key)
	if err != nil {
		return "", err
	}
	raw, err := sys.ReadKernelValue(k.sysctlFile(canonical))
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		err = fs.ErrNotExist
	case errors.Is(err, unix.EIO):
		err = fmt.Errorf("%w (%w)", ErrNoValue, err)
	case errors.Is(err, unix.EACCES) && k.onlyWritten(canonical):
		err = errOnlyWritten
	}
	if err != nil {
		return "", fmt.Errorf("read sysctl %s: %w", key, err)
	}
	return sys.FoldSpace(string(raw)), nil
}

// onlyWritten reports whether nobody may read a key.
func (k *Reader) onlyWritten(canonical string) bool {
	var st unix.Stat_t
	return unix.Stat(k.sysctlFile(canonical), &st) == nil && st.Mode&0o444 == 0
}

func (k *Reader) sysctlFile(canonical string) string {
	return k.Proc + "/sys/" + SysctlPath(canonical)
}

// OwnsSysctls reports whether /proc/sys is writable and of the initial network namespace. Only
// there are the limits of socket buffers writable (mode 0644); elsewhere the key is missing or
// read-only.
func (k *Reader) OwnsSysctls() bool {
	var fs unix.Statfs_t
	if unix.Statfs(k.Proc+"/sys", &fs) != nil || fs.Flags&unix.ST_RDONLY != 0 {
		return false
	}
	var st unix.Stat_t
	return unix.Stat(k.Proc+"/sys/net/core/rmem_max", &st) == nil && st.Mode&0o200 != 0
}
