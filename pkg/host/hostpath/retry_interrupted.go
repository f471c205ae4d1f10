package hostpath

import "golang.org/x/sys/unix"

// Again repeats a call that a signal interrupted, as FUSE and NFS let happen,
// or that openat2 asks to repeat after a rename crossed its way.
func Again(call func() error) error {
	for tries := 0; ; tries++ {
		err := call()
		if err != unix.EINTR && (err != unix.EAGAIN || tries > 128) {
			return err
		}
	}
}

// OpenAt is openat(2), made again where a signal interrupted it. No program that is run gets the
// descriptor.
func OpenAt(dir int, name string, flags int, mode uint32) (fd int, err error) {
	err = Again(func() error { fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode); return err })
	return fd, err
}
