// Package xattr reads and sets the extended attributes of open files.
package xattr

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Portable are the attributes of a file or directory that mean the same on another inode; nil where
// it has none.
func Portable(fd int) (map[string][]byte, error) {
	list, err := attributes(fd)
	if err != nil {
		return nil, err
	}
	var out map[string][]byte
	for _, attr := range list {
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

// portable says that an attribute means the same on another inode. IMA's and EVM's are made from
// the inode. Trusted ones are the kernel's own, such as overlay's and an ACL once more on XFS
// (fs/xfs/xfs_xattr.c), or nobody's whom our units could do it for, which lack CAP_SYS_ADMIN.
func portable(attr string) bool {
	return attr != "security.ima" && attr != "security.evm" && !strings.HasPrefix(attr, "trusted.")
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

// Set gives a file or directory attributes. Those that it has besides stay. It may be retried.
func Set(fd int, attrs map[string][]byte) error {
	for _, attr := range slices.Sorted(maps.Keys(attrs)) {
		if !portable(attr) { // an earlier release wrote it down
			continue
		}
		if have, ok := attribute(fd, attr); ok && bytes.Equal(have, attrs[attr]) {
			continue
		}
		err := unix.Fsetxattr(fd, attr, attrs[attr], 0)
		switch {
		case err == nil, attr == "security.selinux" && errors.Is(err, unix.EPERM): // see CopyLabels
		case errors.Is(err, unix.EPERM):
			return fmt.Errorf("%s: %w: run it as root with all capabilities", attr, err)
		default:
			return fmt.Errorf("%s: %w", attr, err)
		}
	}
	return nil
}

// DropACL takes the ACL from an open file or directory, where it has one. Its mode stays.
func DropACL(fd int) error {
	const acl = "system.posix_acl_access"
	if n, _ := unix.Fgetxattr(fd, acl, nil); n <= 0 {
		return nil // also where the file system has no ACLs
	}
	return unix.Fremovexattr(fd, acl)
}

// CopyLabels copies the SELinux label and the user attributes of the file that
// is replaced. A new file has the label that the policy gives it in its directory.
// Not copied: capabilities, IMA and EVM, which belong to the old content, and ACLs, since
// the mode that is asked for is all the access there shall be. Who keeps an ACL asks for it.
func CopyLabels(dir int, base string, to int) error {
	from, err := unix.Openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // unreadable to us or gone: it has no label that we could keep
	}
	defer unix.Close(from)
	list, err := attributes(from)
	if err != nil {
		return err
	}
	for _, attr := range list {
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

// attributes lists the names of a file's extended attributes.
func attributes(fd int) ([]string, error) {
	n, err := unix.Flistxattr(fd, nil)
	if errors.Is(err, unix.ENOTSUP) || n == 0 && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	buf := make([]byte, n+1024)
	n, err = unix.Flistxattr(fd, buf)
	return strings.FieldsFunc(string(buf[:max(n, 0)]), func(r rune) bool { return r == 0 }), err // each ends with NUL
}
