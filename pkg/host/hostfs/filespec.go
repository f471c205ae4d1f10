package hostfs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/xattr"
)

// setMeta sets owner, attributes, mode and mtime of an open file. The owner comes first, because a
// change of owner clears the setuid bit and capabilities. The mode comes after the attributes: with
// an ACL its group bits are the mask, without one they are the permissions of the group.
func setMeta(fd int, spec FileSpec) error {
	info, err := hostpath.Fstat(fd)
	if err != nil {
		return err
	}
	owned := info.UID == spec.UID && info.GID == spec.GID
	if owned && info.Mode == spec.Mode && len(spec.Attrs) == 0 && spec.Mtime == nil {
		return nil
	}
	if !owned {
		// Between the two calls nobody gets more access than both the old and the new mode allow.
		if err := unix.Fchmod(fd, hostpath.ModeBits(info.Mode&spec.Mode)); err != nil {
			return err
		}
		if err := unix.Fchown(fd, spec.UID, spec.GID); err != nil {
			return err
		}
	}
	if err := xattr.Set(fd, spec.Attrs); err != nil {
		return err
	}
	// A process that may not set set-ID bits (systemd.exec(5), RestrictSUIDSGID=) may not even set
	// the bits that the file has. So the call is made only if the mode differs.
	if info, err = hostpath.Fstat(fd); err == nil && info.Mode != spec.Mode {
		err = unix.Fchmod(fd, hostpath.ModeBits(spec.Mode))
	}
	if err == nil && spec.Mtime != nil { // a later write would change it
		err = setTime(fd, *spec.Mtime)
	}
	return err
}

// setTime sets atime and mtime of an open file, also of a symlink.
func setTime(fd int, mtime int64) error {
	at := unix.NsecToTimespec(mtime)
	return unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), []unix.Timespec{at, at}, 0)
}

// single returns an error if an open file is not regular, or has other names.
func single(fd int, name string) error {
	info, err := hostpath.Fstat(fd)
	if err == nil && info.Type != Regular {
		err = hostpath.ErrChanged
	}
	return cmp.Or(err, singleName(name, info))
}

// unwrapPath removes the [os.PathError] of package os from an error, so that [hostpath.Explain] can
// add one with its own operation.
func unwrapPath(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}

// FileSpec has the attributes of a file besides its content.
type FileSpec struct {
	Mode     fs.FileMode // permission, setuid, setgid and sticky bits; the umask is not applied
	UID, GID int
	// Attrs are extended attributes as [Files.Attributes] returns them. A new file has an ACL only
	// if it is in Attrs. Without one the mode alone decides on access.
	Attrs map[string][]byte
	Mtime *int64 // nanoseconds since the epoch, in place together with the content; nil: now
	// Fleeting means that the file is not used after this boot. A power cut may leave any content
	// in it. A batch in which all files are fleeting is not synced.
	Fleeting bool
}
