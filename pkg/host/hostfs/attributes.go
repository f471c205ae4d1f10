package hostfs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
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

// SetAttributes gives a file or directory extended attributes as [Files.Attributes] told them.
// Those that it has besides stay. It may be retried.
func (w *Writer) SetAttributes(name string, attrs map[string][]byte) error {
	name, err := Clean("set the attributes of", name)
	if err != nil || len(attrs) == 0 {
		return err
	}
	fd, err := w.files.Paths.plainly().openItself(name)
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
