package sys

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// noOpenat2 says that openat2 is not there: before Linux 5.6, and where systemd hides it, as it
// does from our own daemon (RestrictSUIDSGID=, systemd.exec(5)).
var noOpenat2 atomic.Bool

// Openat2 is openat2(2). Where it is not there, that is ENOSYS, and the kernel is asked once.
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
