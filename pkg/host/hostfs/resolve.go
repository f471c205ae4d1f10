package hostfs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Clean makes a path absolute and free of "." and ".." before any symlink is
// looked at, so that a path names the same file in a plan and on the disk.
func Clean(op, name string) (string, error) {
	if !path.IsAbs(name) || strings.IndexByte(name, 0) >= 0 {
		return "", &fs.PathError{Op: op, Path: name, Err: errors.New("not an absolute path")}
	}
	return path.Clean(name), nil
}

// open opens a cleaned path. Symlinks are followed inside the root only: an
// absolute one in an image means below the image's root, as it will when the
// image is booted, and ".." ends there. [os.Root] refuses absolute symlinks.
// Of a strict view none are followed: see [Files.Strict].
func (p Paths) open(name string, flags int) (int, error) {
	if flags&(unix.O_PATH|unix.O_ACCMODE) == unix.O_RDONLY {
		return quietly(func(more int) (int, error) { return p.openIn(name, flags|more) })
	}
	return p.openIn(name, flags)
}

func (p Paths) openIn(name string, flags int) (int, error) {
	flags |= unix.O_CLOEXEC
	fd, err := -1, error(nil)
	if p.strict {
		fd, _, err = p.walk(name, flags)
		return fd, err
	}
	if !p.image {
		err = again(func() error { fd, err = unix.Open(name, flags, 0); return err })
		return fd, err
	}
	if !p.noOpen {
		how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
		err = again(func() error { fd, err = sys.Openat2(p.root, name, &how); return err })
		// ENOSYS before Linux 5.6; EPERM from old seccomp profiles that do not know the call.
		if err != unix.ENOSYS && err != unix.EPERM {
			return fd, err
		}
	}
	fd, _, err = p.walk(name, flags)
	return fd, err
}

// OpenParent opens the directory that a cleaned path is in.
func (p Paths) OpenParent(name string) (dir int, base string, err error) {
	dir, err = p.open(path.Dir(name), unix.O_PATH|unix.O_DIRECTORY)
	return dir, path.Base(name), err
}

// maxLinks is how many symlinks one path may have, as in the kernel.
const maxLinks = 40

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

// OpenQuietly opens a file or a directory of a root to read it, and leaves its time of access as it
// is where that is allowed. It waits for nobody's end of a pipe.
func OpenQuietly(root *os.Root, name string) (*os.File, error) {
	return quietly(func(more int) (*os.File, error) { return root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|more, 0) })
}

// quietly opens something to read it, and leaves its time of access as it is: a node on which
// nothing happens is not written to by those who look at it. The kernel would note the first look
// after each change, and one a day (mount(8), relatime), and each note is a block for the disk. To
// leave it is for the owner and for CAP_FOWNER (open(2), O_NOATIME); for anybody else it is opened
// as usual. open gets flags to add to its own.
func quietly[T any](open func(more int) (T, error)) (T, error) {
	out, err := open(unix.O_NOATIME)
	if errors.Is(err, unix.EPERM) {
		return open(0)
	}
	return out, err
}
