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

// Portable returns the attributes of a file or directory that mean the same on another inode; nil
// if there are none.
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

// portable reports whether an attribute means the same on another inode. Attributes of IMA and EVM
// are computed from the inode. Trusted attributes belong to the kernel, such as those of overlayfs,
// or the second copy of an ACL on XFS (fs/xfs/xfs_xattr.c). The agent's units could not set others,
// because they lack CAP_SYS_ADMIN.
func portable(attr string) bool {
	return attr != "security.ima" && attr != "security.evm" && !strings.HasPrefix(attr, "trusted.")
}

// attribute reads one value; false if it is missing or not readable.
func attribute(fd int, attr string) ([]byte, bool) {
	value := make([]byte, 64<<10) // the kernel's limit for one value
	n, err := unix.Fgetxattr(fd, attr, value)
	if err != nil {
		return nil, false
	}
	return slices.Clone(value[:n]), true
}

// Set sets attributes of a file or directory. Other attributes stay. It may be retried.
func Set(fd int, attrs map[string][]byte) error {
	for _, attr := range slices.Sorted(maps.Keys(attrs)) {
		if !portable(attr) { // an earlier release recorded it
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

// DropACL removes the ACL of an open file or directory. The mode stays.
func DropACL(fd int) error {
	const acl = "system.posix_acl_access"
	if n, _ := unix.Fgetxattr(fd, acl, nil); n <= 0 {
		return nil // no ACL, or a file system without ACLs
	}
	return unix.Fremovexattr(fd, acl)
}

// CopyLabels copies the SELinux label and the user attributes of a file to the file that will
// replace it. A new file has the label that the policy gives it in its directory. It does not copy
// capabilities, IMA and EVM, which belong to the old content. Nor does it copy ACLs, because the
// wanted mode alone decides on access; a caller that needs an ACL sets it.
func CopyLabels(dir int, base string, to int) error {
	from, err := unix.Openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // unreadable or gone: there is no label to copy
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
			continue // removed meanwhile, or not readable
		}
		err = unix.Fsetxattr(to, attr, value, 0)
		if attr == "security.selinux" && errors.Is(err, unix.EPERM) {
			continue // the label's policy is not loaded: SELinux itself would return EACCES
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
