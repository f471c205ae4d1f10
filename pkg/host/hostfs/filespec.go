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

// setMeta gives an open file its owner, attributes, mode and time. The owner comes first, since a
// change of owner clears the setuid bit and capabilities. The mode comes after the attributes: with
// an ACL its group bits are the mask, and without one they are what the group may do.
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
		// Between the two calls nobody gets more than by both the old and the new mode.
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
	// Who may not give set-ID bits (systemd.exec(5), RestrictSUIDSGID=) may not give them again.
	if info, err = hostpath.Fstat(fd); err == nil && info.Mode != spec.Mode {
		err = unix.Fchmod(fd, hostpath.ModeBits(spec.Mode))
	}
	if err == nil && spec.Mtime != nil { // the next write would change it again
		err = setTime(fd, *spec.Mtime)
	}
	return err
}

// setTime gives what is open, a symlink too, its time of change.
func setTime(fd int, mtime int64) error {
	at := unix.NsecToTimespec(mtime)
	return unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), []unix.Timespec{at, at}, 0)
}

// single says that an open file is a regular one without another name.
func single(fd int, name string) error {
	info, err := hostpath.Fstat(fd)
	if err == nil && info.Type != Regular {
		err = hostpath.ErrChanged
	}
	return cmp.Or(err, singleName(name, info))
}

// unwrapPath takes off the [os.PathError] that an os.File puts around an error, so
// that [hostpath.Explain] can put the operation of ours there.
func unwrapPath(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}

// FileSpec is what a file has besides its content.
type FileSpec struct {
	Mode     fs.FileMode // permission, setuid, setgid and sticky bits; the umask does not count
	UID, GID int
	// Attrs are extended attributes as [Files.Attributes] returns them. A new file has no ACL but
	// theirs: without one the mode is all the access there is.
	Attrs map[string][]byte
	Mtime *int64 // nanoseconds since the epoch, in place together with the content; nil: now
	// Fleeting says that nobody believes the file after this boot: nothing waits for the disk to
	// have it, and a power cut may leave anything in its place. A batch of such files alone is not
	// synced.
	Fleeting bool
}
