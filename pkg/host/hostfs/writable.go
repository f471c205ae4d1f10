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
		if f.mounts.have(f.Paths.IsImage(), dir, unix.ST_RDONLY, "ro") {
			return unix.EROFS
		}
		return fixedAt(dir, base)
	})
}

// fixedAt returns EPERM if a path or its directory is immutable or append-only, and EBUSY if a file
// is mounted on the path of a file. A network namespace is no such file: it has no other path, and
// the unit that mounted it unmounts it.
func fixedAt(dir int, base string) error {
	if fixed(dir, "", unix.AT_EMPTY_PATH) || fixed(dir, base, unix.AT_SYMLINK_NOFOLLOW) {
		return unix.EPERM
	}
	info, _ := hostpath.LstatAt(dir, base) // what is not there is no mount
	err := info.Free()
	if err != nil {
		fd := itself(dir, base)
		defer unix.Close(fd)
		if on, fsErr := fsOf(fd); fsErr == nil && on.Type == unix.NSFS_MAGIC {
			return nil
		}
	}
	return err
}

// Writable implements [Files].
func (f *Reader) Writable(name string, size int64) error {
	return at("write", name, func(name string) error {
		dir, base, err := openNearestParent(f.Paths, name)
		if err != nil { // the write itself returns this error
			return nil
		}
		defer unix.Close(dir)
		on := itself(dir, base)
		defer unix.Close(on)
		if f.mounts.have(f.Paths.IsImage(), on, unix.ST_RDONLY, "ro") {
			return unix.EROFS
		}
		if err := fixedAt(dir, base); err != nil {
			return err
		}
		if fs, err := fsOf(on); err == nil && size >= 0 && full(fs, size) {
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
	if err != nil { // running it returns this error
		return nil
	}
	defer unix.Close(dir)
	on := itself(dir, base)
	defer unix.Close(on)
	if f.mounts.have(f.Paths.IsImage(), on, unix.ST_NOEXEC, "noexec") {
		return fmt.Errorf("run %s: its file system is mounted noexec", name)
	}
	return nil
}

// openNearestParent opens the directory of a path, or the nearest parent that exists. The caller
// must close dir.
func openNearestParent(root hostpath.Root, name string) (dir int, base string, err error) {
	dir, base, err = root.OpenParent(name)
	for at := name; errors.Is(err, fs.ErrNotExist) && at != "/"; {
		at = path.Dir(at)
		dir, base, err = root.OpenParent(at)
	}
	return dir, base, err
}

// itself opens a path in an open directory, which may be a mount point; the directory if the path
// does not exist. The caller must close it.
func itself(dir int, base string) int {
	fd, err := hostpath.OpenAt(dir, base, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		fd, _ = unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0) // -1: nothing is known of the mount
	}
	return fd
}

// full reports whether a new file of size bytes has no space. A file system without a size has no
// block limit; one without a number of inodes creates them as needed. Blocks reserved for root
// count as free, because the writer may be root.
func full(on unix.Statfs_t, size int64) bool {
	blocks := on.Blocks > 0 && on.Bsize > 0 && on.Bfree < uint64((size+on.Bsize-1)/on.Bsize)
	return blocks || on.Files > 0 && on.Ffree == 0
}

// mayStage returns an error for an immutable or append-only directory: a staged file there could be
// neither renamed nor removed.
func mayStage(dir int) error {
	if fixed(dir, "", unix.AT_EMPTY_PATH) {
		return unix.EPERM
	}
	return nil
}

// fixed reports whether a path is immutable or append-only, which also binds root. It is false if
// the kernel does not say.
func fixed(at int, name string, flags int) bool {
	var st unix.Statx_t
	err := hostpath.Again(func() error { return unix.Statx(at, name, flags|unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE, &st) })
	return err == nil && st.Attributes&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND) != 0
}
