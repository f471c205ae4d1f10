package sys

import (
	"bytes"
	"iter"
	"strings"

	"golang.org/x/sys/unix"
)

// Mounts iterates over the mount points in mountinfo with the types of their file systems. A later
// mount hides an earlier one.
// https://docs.kernel.org/filesystems/proc.html#proc-pid-mountinfo
func Mounts(mountinfo []byte) iter.Seq2[string, string] {
	return func(yield func(point, fstype string) bool) {
		for line := range bytes.Lines(mountinfo) {
			// id parent major:minor root point options [tags…] - type source options
			left, right, _ := strings.Cut(string(line), " - ")
			fields := strings.Split(left, " ")
			fstype, _, ok := strings.Cut(right, " ")
			if ok && len(fields) > 4 && !yield(UnescapeMount(fields[4]), fstype) {
				return
			}
		}
	}
}

// HostMounts returns the path of the mountinfo of PID 1. A service with its own copy of the host's
// mounts has the same mounts, and not the flags that the host changed since, such as noexec: the
// kernel copies mounts, and not flags. It is the process's own where PID 1 is hidden (hidepid).
// https://man7.org/linux/man-pages/man7/mount_namespaces.7.html
func HostMounts() string {
	const host = "/proc/1/mountinfo"
	if unix.Access(host, unix.R_OK) != nil {
		return "/proc/self/mountinfo"
	}
	return host
}
