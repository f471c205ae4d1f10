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

// Clean makes a path absolute and removes "." and ".." before any symlink is read, so that a path
// names the same file in a plan and on the disk.
func Clean(op, name string) (string, error) {
	if !path.IsAbs(name) || strings.IndexByte(name, 0) >= 0 {
		return "", &fs.PathError{Op: op, Path: name, Err: errors.New("not an absolute path")}
	}
	return path.Clean(name), nil
}

// Open opens a cleaned path. It follows symlinks inside the root only: an absolute symlink in an
// image is relative to the image's root, as after a boot of the image, and ".." ends there.
// ([os.Root] refuses absolute symlinks.) A strict root follows no symlinks: see [Root.Strict].
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
	// ENOSYS comes before Linux 5.6; EPERM comes from old seccomp profiles that do not know
	// openat2.
	if err == unix.ENOSYS || err == unix.EPERM {
		fd, _, err = r.Walk(name, flags)
	}
	return fd, err
}

// OpenParent opens the directory of a cleaned path.
func (r Root) OpenParent(name string) (dir int, base string, err error) {
	dir, err = r.Open(path.Dir(name), unix.O_PATH|unix.O_DIRECTORY)
	return dir, path.Base(name), err
}

// OpenQuietly opens a file or directory of a root for reading. It does not change the atime, if
// that is allowed. It does not block on a pipe.
func OpenQuietly(root *os.Root, name string) (*os.File, error) {
	return Quietly(func(more int) (*os.File, error) { return root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|more, 0) })
}

// Quietly calls open with O_NOATIME, so that reading does not change the atime, and an idle node
// writes nothing to its disk. Otherwise the kernel would write the atime at the first read after
// each change, and once a day (mount(8), relatime), and each time writes a block. Only the owner of
// a file and CAP_FOWNER may use O_NOATIME (open(2)). For others Quietly calls open again without
// it. open must add more to its own flags.
func Quietly[T any](open func(more int) (T, error)) (T, error) {
	out, err := open(unix.O_NOATIME)
	if errors.Is(err, unix.EPERM) {
		return open(0)
	}
	return out, err
}
