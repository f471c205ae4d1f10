package hostpath

import (
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/selinux"
)

// Label sets the SELinux type that the policy has for the path name on an open file. In an image it
// sets no labels: whoever builds the image must label it as a whole before its first boot, with the
// policy that the image will use.
func (r Root) Label(fd int, name string, kind selinux.Kind) error {
	if r.image {
		return nil
	}
	return selinux.Label(fd, name, kind)
}

// Alike reports whether the policy has the same type for files at both paths. Then one file may
// have both names.
func (r Root) Alike(a, b string) bool { return r.image || selinux.Alike(a, b) }

// LabelLink is [Root.Label] for a new symlink in an open directory.
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
