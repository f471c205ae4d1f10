package hostfs

import (
	"cmp"
	"errors"
	"path"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/xattr"
)

// Attributes implements [Files].
func (f *Reader) Attributes(name string) (map[string][]byte, error) {
	return look("read the attributes of", name, func(name string) (map[string][]byte, error) {
		fd, err := f.Paths.Open(name, toRead)
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
			return nil, nil // a symlink or a socket
		}
		if err != nil {
			return nil, err
		}
		defer unix.Close(fd)
		return xattr.Portable(fd)
	})
}

// toRead are the flags to open a file or directory without following a symlink and without
// blocking.
const toRead = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY

// openDir opens a directory that is in another open directory.
func openDir(dir int, base string) (int, error) {
	return hostpath.OpenAt(dir, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// SetAttributes sets extended attributes of a file or directory, as [Files.Attributes] returned
// them. Other attributes stay. It may be retried.
func (w *Writer) SetAttributes(name string, attrs map[string][]byte) error {
	return at("set the attributes of", name, func(name string) error {
		if len(attrs) == 0 {
			return nil
		}
		fd, err := w.files.Paths.Strict().Open(name, toRead)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := otherNames(fd, name); err != nil {
			return err
		}
		return xattr.Set(fd, attrs)
	})
}

// otherNames returns an error if an open file has other names (hard links), or is mounted on its
// path.
func otherNames(fd int, name string) error {
	info, err := hostpath.Fstat(fd)
	return cmp.Or(err, info.Free(), singleName(name, info))
}

// singleName returns an error for a regular file that has other names (hard links).
func singleName(name string, info FileInfo) error {
	if info.Type == Regular && info.Links > 1 {
		return &hostpath.NamesError{Path: name, Names: info.Links}
	}
	return nil
}

// SetMtime sets the mtime of a file, directory or symlink, in nanoseconds since the epoch. The
// atime becomes the same.
func (w *Writer) SetMtime(name string, mtime int64) error {
	return at("set the time of", name, func(name string) error {
		dir, base, err := w.files.Paths.Strict().OpenParent(name)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		fd, err := hostpath.OpenAt(dir, base, unix.O_PATH|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := otherNames(fd, name); err != nil {
			return err
		}
		return setTime(fd, mtime)
	})
}

// Linkable reports whether [Writer.Retain] gives a file another name (hard link) instead of a copy,
// so that it needs no disk space.
func Linkable(w *Writer, from, to string) (bool, error) {
	f := w.files.strictly()
	info, err := f.Lstat(from)
	if err != nil {
		return false, err
	}
	dir, err := f.Lstat(path.Dir(to))
	return err == nil && info.Dev == dir.Dev && f.Paths.Alike(from, to), err
}
