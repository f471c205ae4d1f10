package hostpath

import (
	"errors"
	"io/fs"
	"os"
	"path"
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

// Open opens a cleaned path. Symlinks are followed inside the root only: an
// absolute one in an image means below the image's root, as it will when the
// image is booted, and ".." ends there. [os.Root] refuses absolute symlinks.
// Of a strict root none are followed: see [Root.Strict].
func (r Root) Open(name string, flags int) (int, error) {
	if flags&(unix.O_PATH|unix.O_ACCMODE) == unix.O_RDONLY {
		return Quietly(func(more int) (int, error) { return r.openIn(name, flags|more) })
	}
	return r.openIn(name, flags)
}

func (r Root) openIn(name string, flags int) (int, error) {
	if !r.strict && !r.image {
		return OpenAt(unix.AT_FDCWD, name, flags, 0)
	}
	fd, err := -1, error(unix.ENOSYS)
	if !r.strict {
		how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
		err = Again(func() error { fd, err = sys.Openat2(r.fd, name, &how); return err })
	}
	// ENOSYS before Linux 5.6; EPERM from old seccomp profiles that do not know the call.
	if err == unix.ENOSYS || err == unix.EPERM {
		fd, _, err = r.Walk(name, flags)
	}
	return fd, err
}

// OpenParent opens the directory that a cleaned path is in.
func (r Root) OpenParent(name string) (dir int, base string, err error) {
	dir, err = r.Open(path.Dir(name), unix.O_PATH|unix.O_DIRECTORY)
	return dir, path.Base(name), err
}

// OpenQuietly opens a file or a directory of a root to read it, and leaves its time of access as it
// is where that is allowed. It waits for nobody's end of a pipe.
func OpenQuietly(root *os.Root, name string) (*os.File, error) {
	return Quietly(func(more int) (*os.File, error) { return root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|more, 0) })
}

// Quietly opens something to read it, and leaves its time of access as it is: a node on which
// nothing happens is not written to by those who look at it. The kernel would note the first look
// after each change, and one a day (mount(8), relatime), and each note is a block for the disk. To
// leave it is for the owner and for CAP_FOWNER (open(2), O_NOATIME); for anybody else it is opened
// as usual. open gets flags to add to its own.
func Quietly[T any](open func(more int) (T, error)) (T, error) {
	out, err := open(unix.O_NOATIME)
	if errors.Is(err, unix.EPERM) {
		return open(0)
	}
	return out, err
}
