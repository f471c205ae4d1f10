package selinux

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Label sets the type that the policy has for the path name on an open file, as restorecon(8)
// would. The path must have no symlinks. Without Label, the file has the type of the directory in
// which it was created. Label does nothing where SELinux is not active.
func Label(fd int, name string, kind Kind) error {
	if !Active() {
		return nil
	}
	policy, err := Read("/")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // the policy has no file contexts, or they are not readable
	}
	if err != nil {
		return fmt.Errorf("read the SELinux policy's contexts of files: %w", err)
	}
	wanted := policy.Type(name, kind)
	if wanted == "" {
		return nil
	}
	at := fmt.Sprintf("/proc/self/fd/%d", fd) // works for a symlink, too
	value := make([]byte, 4096)
	n, err := unix.Getxattr(at, Attribute, value)
	if err != nil {
		return nil // the file system has no labels
	}
	is := string(bytes.TrimRight(value[:n], "\x00"))
	if TypeOf(is) == wanted {
		return nil
	}
	err = unix.Setxattr(at, Attribute, []byte(WithType(is, wanted)+"\x00"), 0)
	switch err {
	case unix.ENOTSUP, unix.EPERM, // its file system has one label for all files, or is remote
		unix.EACCES, // the policy forbids this process to set labels
		unix.EINVAL: // the loaded policy differs from that on disk and does not know the type
		return nil
	}
	return err
}

// Alike reports whether the policy has the same type for files at both paths. Then one file may
// have both names.
func Alike(a, b string) bool {
	if !Active() {
		return true
	}
	policy, err := Read("/")
	return err != nil || policy.Type(a, File) == policy.Type(b, File)
}
