package hostfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/selinux"
)

// label gives what was made, and is to be at a path without links, the SELinux type that the policy
// has for that path, as restorecon(8) would: by itself it has that of the directory that it was
// made in. An image gets no labels: who makes one has the policy that it will run under label it as
// a whole, before its first boot.
func (p Paths) label(fd int, name string, kind selinux.Kind) error {
	if p.image || !selinux.Active() {
		return nil
	}
	policy, err := selinux.Read("/")
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
	n, err := unix.Getxattr(at, selinux.Attribute, value)
	if err != nil {
		return nil // its file system has no labels
	}
	is := string(bytes.TrimRight(value[:n], "\x00"))
	if selinux.TypeOf(is) == wanted {
		return nil
	}
	err = unix.Setxattr(at, selinux.Attribute, []byte(selinux.WithType(is, wanted)+"\x00"), 0)
	switch err {
	case unix.ENOTSUP, unix.EPERM: // all of its file system has one label, or it is a server's
		return nil
	case unix.EINVAL: // the policy that runs is not the one on the disk: it does not know the type
		return nil
	}
	return err
}

// alike says that the policy has one type for files at both paths, so that one file may have both
// names.
func (p Paths) alike(a, b string) bool {
	if p.image || !selinux.Active() {
		return true
	}
	policy, err := selinux.Read("/")
	return err != nil || policy.Type(a, selinux.File) == policy.Type(b, selinux.File)
}

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

// Linkable says that [Writer.Retain] gives a file another name, so that to keep it costs no room.
func (w *Writer) Linkable(from, to string) (bool, error) {
	f := w.files.strictly()
	info, err := f.Lstat(from)
	if err != nil {
		return false, err
	}
	dir, err := f.Lstat(path.Dir(to))
	return err == nil && info.Dev == dir.Dev && f.Paths.alike(from, to), err
}
