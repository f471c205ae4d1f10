package hostpath

import "golang.org/x/sys/unix"

// Again repeats a call that a signal interrupted (EINTR, as on FUSE and NFS). It also repeats
// openat2 after EAGAIN, which means that a rename ran at the same time.
func Again(call func() error) error {
	for tries := 0; ; tries++ {
		err := call()
		if err != unix.EINTR && (err != unix.EAGAIN || tries > 128) {
			return err
		}
	}
}

// OpenAt is openat(2), repeated if a signal interrupts it. Programs that the agent runs do not
// inherit the descriptor.
func OpenAt(dir int, name string, flags int, mode uint32) (fd int, err error) {
	err = Again(func() error { fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode); return err })
	return fd, err
}
