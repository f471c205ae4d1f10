package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// WriteFile puts one file in place, whole and durable: a [Batch] of one.
func (h *Host) WriteFile(ctx context.Context, name string, content []byte, spec FileSpec) error {
	return h.WriteFileWith(ctx, name, content, spec, nil)
}

// WriteFileWith is [Host.WriteFile] for a file that has extended attributes before it is in place, see [Host.SetAttributes].
func (h *Host) WriteFileWith(ctx context.Context, name string, content []byte, spec FileSpec, attrs map[string][]byte) error {
	b := h.Batch()
	defer b.Discard()
	s, err := b.Create(name, spec)
	if err != nil {
		return err
	}
	s.attrs = attrs
	if _, err := s.Write(content); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	return b.Commit(ctx)
}

// resolve follows the symlinks that a path itself is, so that a link is not
// replaced by the file that it leads to.
func (f *files) resolve(name string) (string, error) {
	for range maxLinks {
		info, err := f.Lstat(name)
		if err != nil || info.Type != Symlink {
			return name, err
		}
		target, err := f.Readlink(name)
		if err != nil {
			return name, err
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(name), target)
		}
		name = path.Clean(target)
	}
	return name, explain("resolve", name, unix.ELOOP)
}

// Mkdir makes a directory with its mode and owner, or gives them to the one that is
// there. Missing parents are made with mode 0755. A symlink to a directory counts as
// the directory. It is not synced by itself: a directory that a power cut undoes is made
// again, and what is written into it syncs it.
func (h *Host) Mkdir(name string, mode fs.FileMode, uid, gid int) error {
	name, err := clean("make directory", name)
	if err != nil {
		return err
	}
	fd, err := h.files.makeDirs(name)
	if err != nil {
		return explain("make directory", name, err)
	}
	defer unix.Close(fd)
	if err := setMeta(fd, FileSpec{Mode: mode, UID: uid, GID: gid}); err != nil {
		return explain("set owner and mode of", name, err)
	}
	h.wrote("directory", name, zap.Stringer("mode", mode))
	return nil
}

// makeDirs opens a directory; what is missing of it is made with mode 0755.
func (f *files) makeDirs(name string) (int, error) {
	fd, err := f.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	switch {
	case err == nil:
		return fd, nil
	case errors.Is(err, unix.ENOTDIR):
		if info, err := f.Lstat(name); err == nil {
			return -1, &InTheWayError{Path: name, Is: info.Type, Want: Directory}
		}
		return -1, err
	case !errors.Is(err, ErrNotExist) || name == "/":
		return -1, err
	}
	parent, err := f.makeDirs(path.Dir(name))
	if err != nil {
		return -1, err
	}
	defer unix.Close(parent)
	base := path.Base(name)
	err = unix.Mkdirat(parent, base, 0o755)
	made := err == nil
	if err != nil && err != unix.EEXIST {
		return -1, explain("make directory", name, err)
	}
	fd, err = f.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	switch {
	case errors.Is(err, ErrNotExist):
		return -1, fmt.Errorf("make directory %s: it is a symlink that leads nowhere: remove it or make its target", name)
	case err == nil && made:
		err = unix.Fchmod(fd, 0o755) // whatever the umask
	}
	return fd, err
}

// Symlink puts a symbolic link in place, or replaces one with another target, in
// one step. Anything else in its place is an [InTheWayError].
func (h *Host) Symlink(name, target string) error {
	name, err := clean("link", name)
	if err != nil {
		return err
	}
	dir, err := h.files.makeDirs(path.Dir(name))
	if err != nil {
		return explain("link", name, err)
	}
	defer unix.Close(dir)
	base := path.Base(name)
	there, err := statx(dir, base, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case err == nil && there.Type != Symlink:
		return &InTheWayError{Path: name, Is: there.Type, Want: Symlink}
	case err == nil:
		if is, err := readlinkat(dir, base); err == nil && is == target {
			return nil
		}
	}
	temp := stagedName()
	if err := unix.Symlinkat(target, dir, temp); err != nil {
		return explain("link", name, err)
	}
	if err := unix.Renameat(dir, temp, dir, base); err != nil {
		return errors.Join(explain("link", name, err), unix.Unlinkat(dir, temp, 0))
	}
	if err := syncAll([]syncItem{{fd: dir, name: path.Dir(name)}}); err != nil {
		return err
	}
	h.wrote("symlink", name, zap.String("target", target))
	return nil
}

// Remove removes a file, a symlink or an empty directory. Absent is success. It is not
// synced: what a power cut brings back is removed again.
func (h *Host) Remove(name string) error {
	name, err := clean("remove", name)
	if err != nil {
		return err
	}
	if name == "/" {
		return explain("remove", name, unix.EBUSY)
	}
	dir, base, err := h.files.parent(name)
	if errors.Is(err, ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return explain("remove", name, err)
	}
	defer unix.Close(dir)
	err = unix.Unlinkat(dir, base, 0)
	if err == unix.EISDIR {
		err = unix.Unlinkat(dir, base, unix.AT_REMOVEDIR)
	}
	if err != nil && err != unix.ENOENT {
		return explain("remove", name, err)
	}
	if err == nil {
		h.wrote("removed", name)
	}
	return nil
}

// SetMeta gives a file or directory its owner and mode, without touching its content. A
// symlink is not followed; it has no mode of its own and is an error.
func (h *Host) SetMeta(name string, spec FileSpec) error {
	name, err := clean("set owner and mode of", name)
	if err != nil {
		return err
	}
	fd, err := h.files.open(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return explain("set owner and mode of", name, err)
	}
	defer unix.Close(fd)
	if err := setMeta(fd, spec); err != nil {
		return explain("set owner and mode of", name, err)
	}
	h.wrote("owner and mode", name, zap.Stringer("mode", spec.Mode), zap.Int("uid", spec.UID), zap.Int("gid", spec.GID))
	return nil
}

// wrote logs an operation that wrote.
func (h *Host) wrote(what, name string, fields ...zap.Field) {
	if h.opt.Log != nil {
		h.opt.Log.Debug(what, append(fields, zap.String("path", name))...)
	}
}
