package hostfs

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// hostMounts has the flags of mounts by their ids, as the host has them. Each is asked for once. A
// service with its own copy of the host's mounts does not get the flags that the host sets later,
// such as noexec: the kernel copies mounts, and not flags.
// https://man7.org/linux/man-pages/man7/mount_namespaces.7.html
type hostMounts struct{ byID sync.Map }

// have reports whether the mount of an open file has a flag of statfs(2): here, or on the host,
// unless the file is of an image. It is false if the kernel does not say.
func (m *hostMounts) have(image bool, fd int, flag int64) bool {
	if on, err := fsOf(fd); err == nil && on.Flags&flag != 0 {
		return true
	}
	id, err := mountOf(fd)
	if err != nil || image {
		return false
	}
	flags, known := m.byID.Load(id)
	if !known {
		flags, _ = m.byID.LoadOrStore(id, hostFlags(fd))
	}
	return flags.(int64)&flag != 0
}

// hostFlags returns the flags of the mount by which PID 1 reaches an open file; none where both
// have the same mounts, or where another file has its path there.
func hostFlags(fd int) int64 {
	// an error does not matter: without CAP_SYS_PTRACE the namespace of PID 1 cannot be read
	mine, _ := os.Readlink("/proc/thread-self/ns/mnt")
	if its, err := os.Readlink("/proc/1/ns/mnt"); err != nil || its == mine {
		return 0
	}
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return 0
	}
	there, err := unix.Open("/proc/1/root"+name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(there)
	here, _ := hostpath.Fstat(fd)
	if same, err := hostpath.Fstat(there); err != nil || !same.SameFile(here) {
		return 0
	}
	on, _ := fsOf(there)
	return on.Flags
}

// mountOf returns the mount id of an open file. statx(2) has it since Linux 5.8.
func mountOf(fd int) (uint64, error) {
	var st unix.Statx_t
	err := hostpath.Again(func() error {
		return unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &st)
	})
	if err != nil || st.Mask&unix.STATX_MNT_ID != 0 {
		return st.Mnt_id, err
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd)) // proc_pid_fdinfo(5)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			return strconv.ParseUint(strings.TrimSpace(id), 10, 64)
		}
	}
	return 0, errors.New("the kernel does not say which mount it is on")
}

// fsOf returns the file system of an open file.
func fsOf(fd int) (on unix.Statfs_t, err error) {
	err = hostpath.Again(func() error { return unix.Fstatfs(fd, &on) })
	return on, err
}
