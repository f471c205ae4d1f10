package sys

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// noOpenat2 means that openat2 does not exist: before Linux 5.6, or if systemd blocks it, as it
// does for the agent's daemon (RestrictSUIDSGID=, systemd.exec(5)).
var noOpenat2 atomic.Bool

// Openat2 is openat2(2). If the call does not exist, it returns ENOSYS, after asking the kernel
// only once.
func Openat2(dir int, name string, how *unix.OpenHow) (fd int, err error) {
	if noOpenat2.Load() {
		return -1, unix.ENOSYS
	}
	fd, err = unix.Openat2(dir, name, how)
	if err == unix.ENOSYS {
		noOpenat2.Store(true)
	}
	return fd, err
}
