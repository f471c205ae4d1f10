package host

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// clean makes a path absolute and free of "." and ".." before any symlink is
// looked at, so that a path names the same file in a plan and on the disk.
func clean(op, name string) (string, error) {
	if !path.IsAbs(name) || strings.IndexByte(name, 0) >= 0 {
		return "", &fs.PathError{Op: op, Path: name, Err: errors.New("not an absolute path")}
	}
	return path.Clean(name), nil
}

// open opens a cleaned path. Symlinks are followed inside the root only: an
// absolute one in an image means below the image's root, as it will when the
// image is booted, and ".." ends there. [os.Root] refuses absolute symlinks.
func (f *files) open(name string, flags int, mode uint32) (int, error) {
	if flags&(unix.O_PATH|unix.O_ACCMODE) == unix.O_RDONLY {
		return quietly(func(more int) (int, error) { return f.openIn(name, flags|more, mode) })
	}
	return f.openIn(name, flags, mode)
}

func (f *files) openIn(name string, flags int, mode uint32) (int, error) {
	flags |= unix.O_CLOEXEC
	fd := -1
	var err error
	if !f.image {
		err = again(func() error { fd, err = unix.Open(name, flags, mode); return err })
		return fd, err
	}
	if !f.noOpen {
		how := unix.OpenHow{Flags: uint64(flags), Mode: uint64(mode), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
		err = again(func() error { fd, err = unix.Openat2(f.root, name, &how); return err })
		// ENOSYS before Linux 5.6; EPERM from old seccomp profiles that do not know the call.
		if err != unix.ENOSYS && err != unix.EPERM {
			return fd, err
		}
	}
	return f.walk(name, flags, mode)
}

// parent opens the directory that a cleaned path is in.
func (f *files) parent(name string) (dir int, base string, err error) {
	dir, err = f.open(path.Dir(name), unix.O_PATH|unix.O_DIRECTORY, 0)
	return dir, path.Base(name), err
}

// maxLinks is how many symlinks one path may have, as in the kernel.
const maxLinks = 40

// walk does what openat2 with RESOLVE_IN_ROOT does, one element at a time. It
// holds every directory that it is below, so that ".." needs no look at the disk
// and a directory that is moved meanwhile cannot lead out.
func (f *files) walk(name string, flags int, mode uint32) (int, error) {
	var held []int
	defer func() {
		for _, fd := range held {
			unix.Close(fd)
		}
	}()
	at := func() int {
		if len(held) == 0 {
			return f.root
		}
		return held[len(held)-1]
	}
	up := func(n int) {
		for ; n > 0 && len(held) > 0; n-- {
			unix.Close(at())
			held = held[:len(held)-1]
		}
	}
	todo := elements(name)
	for links := 0; len(todo) > 0; {
		e := todo[0]
		todo = todo[1:]
		if e == ".." {
			up(1)
			continue
		}
		last := len(todo) == 0
		if target, err := readlinkat(at(), e); err == nil && (!last || flags&unix.O_NOFOLLOW == 0) {
			if links++; links > maxLinks {
				return -1, unix.ELOOP
			}
			if path.IsAbs(target) {
				up(len(held))
			}
			todo = append(elements(target), todo...)
			continue
		}
		if last {
			return unix.Openat(at(), e, flags|unix.O_NOFOLLOW, mode)
		}
		fd, err := unix.Openat(at(), e, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, err
		}
		held = append(held, fd)
	}
	return unix.Openat(at(), ".", flags, mode)
}

func elements(name string) []string {
	all := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	return slices.DeleteFunc(all, func(e string) bool { return e == "." })
}

func readlinkat(dir int, base string) (string, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(dir, base, buf)
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

// again repeats a call that a signal interrupted, as FUSE and NFS let happen,
// or that openat2 asks to repeat after a rename crossed its way.
func again(call func() error) error {
	for tries := 0; ; tries++ {
		err := call()
		if err != unix.EINTR && (err != unix.EAGAIN || tries > 128) {
			return err
		}
	}
}

// modeOf turns the kernel's mode bits into Go's.
func modeOf(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	for _, s := range specialBits {
		if bits&s.bit != 0 {
			mode |= s.mode
		}
	}
	return mode
}

// bitsOf turns Go's mode bits into the kernel's.
func bitsOf(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for _, s := range specialBits {
		if mode&s.mode != 0 {
			bits |= s.bit
		}
	}
	return bits
}

var specialBits = [...]struct {
	bit  uint32
	mode fs.FileMode
}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}}
