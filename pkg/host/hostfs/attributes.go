package hostfs

import (
	"cmp"
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostfs/xattr"
	"github.com/netwright/netwright/pkg/host/selinux"
)

// Attributes implements [Files].
func (f *Reader) Attributes(name string) (map[string][]byte, error) {
	name, err := Clean("read the attributes of", name)
	if err != nil {
		return nil, err
	}
	fd, err := f.Paths.openItself(name)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		return nil, nil // a symlink, or a socket
	}
	if err != nil {
		return nil, Explain("read the attributes of", name, err)
	}
	defer unix.Close(fd)
	out, err := xattr.Portable(fd)
	return out, Explain("read the attributes of", name, err)
}

// openItself opens a file or directory, a symlink not followed and nothing waited for.
func (p Paths) openItself(name string) (int, error) {
	return p.open(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY)
}

// SetAttributes gives a file or directory extended attributes as [Files.Attributes] returned them.
// Those that it has besides stay. It may be retried.
func (w *Writer) SetAttributes(name string, attrs map[string][]byte) error {
	name, err := Clean("set the attributes of", name)
	if err != nil || len(attrs) == 0 {
		return err
	}
	fd, err := w.files.Paths.strictly().openItself(name)
	if err != nil {
		return Explain("set the attributes of", name, err)
	}
	defer unix.Close(fd)
	if info, err := statx(fd, "", unix.AT_EMPTY_PATH); err != nil || info.Type == Regular && info.Links > 1 {
		return Explain("set the attributes of", name, cmp.Or(err, error(&NamesError{Path: name, Names: info.Links})))
	}
	if err := xattr.Set(fd, attrs); err != nil {
		return fmt.Errorf("set the attributes of %s: %w", name, err)
	}
	return nil
}

// SetMtime gives a file, directory or symlink the time of change that it had
// before, in nanoseconds since the epoch. The time of access becomes the same.
func (w *Writer) SetMtime(name string, mtime int64) error {
	name, err := Clean("set the time of", name)
	if err != nil {
		return err
	}
	dir, base, err := w.files.Paths.walkTo(name)
	if err != nil {
		return Explain("set the time of", name, err)
	}
	defer unix.Close(dir)
	fd, err := OpenAt(dir, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return Explain("set the time of", name, err)
	}
	defer unix.Close(fd)
	info, err := statx(fd, "", unix.AT_EMPTY_PATH)
	if err == nil && info.Type == Regular && info.Links > 1 {
		err = &NamesError{Path: name, Names: info.Links}
	}
	if err == nil {
		err = setTime(fd, mtime)
	}
	if err != nil {
		return fmt.Errorf("set the time of %s: %w", name, err)
	}
	return nil
}

// label gives what was made the SELinux type of the path at which it is to be. An image gets no
// labels: who makes one has the policy that it will run under label it as a whole, before its first
// boot.
func (p Paths) label(fd int, name string, kind selinux.Kind) error {
	if p.image {
		return nil
	}
	return selinux.Label(fd, name, kind)
}

// alike says that the policy has one type for files at both paths, so that one file may have both
// names.
func (p Paths) alike(a, b string) bool { return p.image || selinux.Alike(a, b) }

// labelLink is label for a symlink that was made in a directory.
func (p Paths) labelLink(dir int, base, name string) error {
	if p.image || !selinux.Active() {
		return nil
	}
	fd, err := OpenAt(dir, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return p.label(fd, name, selinux.Symlink)
}

// Linkable says that w, by [Writer.Retain], gives a file another name, so that to keep it costs no
// room.
func Linkable(w *Writer, from, to string) (bool, error) {
	f := w.files.strictly()
	info, err := f.Lstat(from)
	if err != nil {
		return false, err
	}
	dir, err := f.Lstat(path.Dir(to))
	return err == nil && info.Dev == dir.Dev && f.Paths.alike(from, to), err
}
