package hostfs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

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
	list, err := attributes(fd)
	if err != nil {
		return nil, Explain("read the attributes of", name, err)
	}
	var out map[string][]byte
	for attr := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if !portable(attr) {
			continue
		}
		if value, ok := attribute(fd, attr); ok {
			if out == nil {
				out = map[string][]byte{}
			}
			out[attr] = value
		}
	}
	return out, nil
}

// openItself opens a file or directory, a symlink not followed and nothing waited for.
func (p Paths) openItself(name string) (int, error) {
	return p.open(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// portable says that an attribute means the same on another inode. IMA's and EVM's are made from
// the inode, overlay's are the kernel's own.
func portable(attr string) bool {
	return attr != "" && attr != "security.ima" && attr != "security.evm" &&
		!strings.HasPrefix(attr, "trusted.overlay.")
}

// attribute reads one value; false where it is gone or not for us to see.
func attribute(fd int, attr string) ([]byte, bool) {
	value := make([]byte, 64<<10) // the kernel's limit for one value
	n, err := unix.Fgetxattr(fd, attr, value)
	if err != nil {
		return nil, false
	}
	return slices.Clone(value[:n]), true
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
	if err := setAttributes(fd, attrs); err != nil {
		return fmt.Errorf("set the attributes of %s: %w", name, err)
	}
	return nil
}

func setAttributes(fd int, attrs map[string][]byte) error {
	for _, attr := range slices.Sorted(maps.Keys(attrs)) {
		if have, ok := attribute(fd, attr); ok && bytes.Equal(have, attrs[attr]) {
			continue
		}
		err := unix.Fsetxattr(fd, attr, attrs[attr], 0)
		switch {
		case err == nil, attr == "security.selinux" && errors.Is(err, unix.EPERM): // see copyLabels
		case errors.Is(err, unix.EPERM):
			return fmt.Errorf("%s: %w: run it as root with all capabilities", attr, err)
		default:
			return fmt.Errorf("%s: %w", attr, err)
		}
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

// copyLabels copies the SELinux label and the user attributes of the file that
// is replaced. A new file has the label that the policy gives it in its directory.
// Not copied: capabilities, IMA and EVM, which belong to the old content, and ACLs, since
// the mode that is asked for is all the access there shall be.
func copyLabels(dir int, base string, to int) error {
	from, err := unix.Openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // unreadable to us or gone: it has no label that we could keep
	}
	defer unix.Close(from)
	list, err := attributes(from)
	if err != nil || list == "" {
		return err
	}
	for attr := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if attr != "security.selinux" && !strings.HasPrefix(attr, "user.") {
			continue
		}
		value, ok := attribute(from, attr)
		if !ok {
			continue // removed meanwhile, or not ours to see
		}
		err = unix.Fsetxattr(to, attr, value, 0)
		if attr == "security.selinux" && errors.Is(err, unix.EPERM) {
			continue // the label is of a policy that does not run: else it would be SELinux that judges, and EACCES
		}
		if err != nil && !errors.Is(err, unix.ENOTSUP) {
			return err
		}
	}
	return nil
}

// attributes lists the names of a file's extended attributes, each ended by NUL.
func attributes(fd int) (string, error) {
	n, err := unix.Flistxattr(fd, nil)
	if errors.Is(err, unix.ENOTSUP) || n == 0 && err == nil {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	buf := make([]byte, n+1024)
	n, err = unix.Flistxattr(fd, buf)
	return string(buf[:max(n, 0)]), err
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
