package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// Removable implements [Files].
func (f *Reader) Removable(name string) error {
	return at("remove", name, func(name string) error {
		dir, base, err := f.Paths.OpenParent(name)
		switch {
		case hostpath.IsMissing(err):
			return nil
		case err != nil:
			return err
		}
		defer unix.Close(dir)
		if on, err := fsOf(dir); err == nil && on.Flags&unix.ST_RDONLY != 0 {
			return unix.EROFS
		}
		return fixedAt(dir, base)
	})
}

// fixedAt says that a path or its directory is immutable or append-only.
func fixedAt(dir int, base string) error {
	if fixed(dir, "", unix.AT_EMPTY_PATH) || fixed(dir, base, unix.AT_SYMLINK_NOFOLLOW) {
		return unix.EPERM
	}
	return nil
}

// Writable implements [Files].
func (f *Reader) Writable(name string, size int64) error {
	return at("write", name, func(name string) error {
		dir, base, err := openNearestParent(f.Paths, name)
		if err != nil { // whoever writes gets the error
			return nil
		}
		defer unix.Close(dir)
		on := fsAt(dir, base)
		if on.Flags&unix.ST_RDONLY != 0 {
			return unix.EROFS
		}
		if err := fixedAt(dir, base); err != nil {
			return err
		}
		if size >= 0 && full(on, size) {
			return unix.ENOSPC
		}
		return nil
	})
}

// Runnable implements [Files].
func (f *Reader) Runnable(name string) error {
	name, err := hostpath.Clean("run", name)
	if err != nil || f.Paths.IsImage() {
		return err
	}
	dir, base, err := openNearestParent(f.Paths, name)
	if err != nil { // whoever runs it gets the error
		return nil
	}
	defer unix.Close(dir)
	if fsAt(dir, base).Flags&unix.ST_NOEXEC != 0 {
		return fmt.Errorf("run %s: its file system is mounted noexec", name)
	}
	return nil
}

// openNearestParent opens the directory of a path, or of the nearest above it that is there. The
// caller closes dir.
func openNearestParent(root hostpath.Root, name string) (dir int, base string, err error) {
	dir, base, err = root.OpenParent(name)
	for at := name; errors.Is(err, fs.ErrNotExist) && at != "/"; {
		at = path.Dir(at)
		dir, base, err = root.OpenParent(at)
	}
	return dir, base, err
}

// fsAt describes what a path lies on: it may be mounted there itself. Where the kernel does not
// say, nothing is known of it.
func fsAt(dir int, base string) unix.Statfs_t {
	fd, err := hostpath.OpenAt(dir, base, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err == nil {
		defer unix.Close(fd)
		dir = fd
	}
	on, _ := fsOf(dir)
	return on
}

// fsOf describes what an open file lies on.
func fsOf(fd int) (on unix.Statfs_t, err error) {
	err = hostpath.Again(func() error { return unix.Fstatfs(fd, &on) })
	return on, err
}

// full says that so many bytes in a file of their own have no room. Without a size the kernel
// counts none, and without a number of inodes it makes them as they are needed. What is kept for
// root counts as free: who writes may be root.
func full(on unix.Statfs_t, size int64) bool {
	blocks := on.Blocks > 0 && on.Bsize > 0 && on.Bfree < uint64((size+on.Bsize-1)/on.Bsize)
	return blocks || on.Files > 0 && on.Ffree == 0
}

// mayStage refuses a directory that only grows: what is staged there could not get its name, nor be
// removed.
func mayStage(dir int) error {
	if fixed(dir, "", unix.AT_EMPTY_PATH) {
		return unix.EPERM
	}
	return nil
}

// fixed says that a path is immutable or append-only, which holds off root too. Where the kernel
// does not say, it is not.
func fixed(at int, name string, flags int) bool {
	var st unix.Statx_t
	err := hostpath.Again(func() error { return unix.Statx(at, name, flags|unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE, &st) })
	return err == nil && st.Attributes&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND) != 0
}
