package selinux

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Label gives an open file that is to be at a path without links the type that the policy has for
// that path, as restorecon(8) would: by itself it has that of the directory that it was made in. It
// does nothing where labels do not count.
func Label(fd int, name string, kind Kind) error {
	if !Active() {
		return nil
	}
	policy, err := Read("/")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // it has none for files, or nobody may know
	}
	if err != nil {
		return fmt.Errorf("read the SELinux policy's contexts of files: %w", err)
	}
	wanted := policy.Type(name, kind)
	if wanted == "" {
		return nil
	}
	at := fmt.Sprintf("/proc/self/fd/%d", fd) // a symlink, too, as no call on a descriptor does
	value := make([]byte, 4096)
	n, err := unix.Getxattr(at, Attribute, value)
	if err != nil {
		return nil // its file system has no labels
	}
	is := string(bytes.TrimRight(value[:n], "\x00"))
	if TypeOf(is) == wanted {
		return nil
	}
	err = unix.Setxattr(at, Attribute, []byte(WithType(is, wanted)+"\x00"), 0)
	switch err {
	case unix.ENOTSUP, unix.EPERM, // all of its file system has one label, or it is a server's
		unix.EACCES, // the policy lets this process give no label: what is made has that of its directory
		unix.EINVAL: // the policy that runs is not the one on the disk: it does not know the type
		return nil
	}
	return err
}

// Alike says that the policy has one type for files at both paths, so that one file may have both
// names.
func Alike(a, b string) bool {
	if !Active() {
		return true
	}
	policy, err := Read("/")
	return err != nil || policy.Type(a, File) == policy.Type(b, File)
}
