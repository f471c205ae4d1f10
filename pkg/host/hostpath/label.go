package hostpath

import (
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/selinux"
)

// Label gives what was made the SELinux type of the path at which it is to be. An image gets no
// labels: who makes one has the policy that it will run under label it as a whole, before its first
// boot.
func (r Root) Label(fd int, name string, kind selinux.Kind) error {
	if r.image {
		return nil
	}
	return selinux.Label(fd, name, kind)
}

// Alike says that the policy has one type for files at both paths, so that one file may have both
// names.
func (r Root) Alike(a, b string) bool { return r.image || selinux.Alike(a, b) }

// LabelLink is [Root.Label] for a symlink that was made in a directory.
func (r Root) LabelLink(dir int, base, name string) error {
	if r.image || !selinux.Active() {
		return nil
	}
	fd, err := OpenAt(dir, base, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return r.Label(fd, name, selinux.Symlink)
}
