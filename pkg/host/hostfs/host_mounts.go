package hostfs

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// hostMounts has the options of mounts by their ids, as the host has them. Each is read once. A
// service with its own copy of the host's mounts does not get the flags that the host sets later,
// such as noexec: the kernel copies mounts, and not flags.
// https://man7.org/linux/man-pages/man7/mount_namespaces.7.html
type hostMounts struct{ byID sync.Map }

// have reports whether the mount of an open file has an option: here, as a flag of statfs(2), or on
// the host, unless the file is of an image. It is false if the kernel does not say.
func (m *hostMounts) have(image bool, fd int, flag int64, option string) bool {
	if on, err := fsOf(fd); err == nil && on.Flags&flag != 0 {
		return true
	}
	id, err := mountOf(fd)
	if err != nil || image {
		return false
	}
	options, known := m.byID.Load(id)
	if !known {
		options, _ = m.byID.LoadOrStore(id, optionsOf(id))
	}
	return slices.Contains(options.([]string), option)
}

// optionsOf returns the options that PID 1 has for a mount of this process; nil where both have the
// same mounts. The mount has another id there, and the same device, root and mount point.
func optionsOf(id uint64) []string {
	// an error does not matter: without CAP_SYS_PTRACE the namespace of PID 1 cannot be read
	mine, _ := os.Readlink("/proc/thread-self/ns/mnt")
	if its, err := os.Readlink("/proc/1/ns/mnt"); err == nil && its == mine {
		return nil
	}
	own, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil
	}
	host, err := os.ReadFile("/proc/1/mountinfo")
	if err != nil {
		return nil // PID 1 is hidden (hidepid)
	}
	start := strconv.FormatUint(id, 10) + " "
	var same, options string // device, root and mount point as they stand in a line
	for line := range strings.Lines(string(own)) {
		if strings.HasPrefix(line, start) {
			same = " " + strings.Join(strings.SplitN(line, " ", 6)[2:5], " ") + " "
		}
	}
	for line := range strings.Lines(string(host)) {
		if _, after, is := strings.Cut(line, same); is && same != "" {
			options, _, _ = strings.Cut(after, " ")
		}
	}
	return strings.Split(options, ",")
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
