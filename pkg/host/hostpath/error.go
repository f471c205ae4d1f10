package hostpath

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/plural"
)

// Explain adds the operation and the path to an error, and advice where the kernel's message gives
// none. Nil stays nil.
func Explain(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	err = &fs.PathError{Op: op, Path: name, Err: err}
	errno, _ := errors.AsType[syscall.Errno](err)
	if advice, ok := advices[errno]; ok {
		return fmt.Errorf("%w: %s", err, strings.NewReplacer("DIR", path.Dir(name), "PATH", name).Replace(advice))
	}
	return err
}

// advices say what a person can do; PATH is the path, DIR its directory.
var advices = map[syscall.Errno]string{
	unix.ENOSPC: "free some space or inodes (df -h DIR; df -i DIR)",
	unix.EDQUOT: "raise the quota or free some space (quota; df -h DIR)",
	unix.EROFS:  "mount it writable, or configure a directory that is (findmnt PATH; findmnt -T DIR)",
	unix.EPERM: "run as root, and look whether the file or directory is immutable or only grows (lsattr -d PATH DIR; " +
		"chattr -i -a)",
	unix.EACCES:  "run as root, and look for a denial of SELinux or AppArmor (journalctl -k -g denied)",
	unix.ENOTDIR: "a parent is a file, and must be a directory: move the file away (namei -l DIR)",
	unix.ELOOP: "it is a symlink, which is not followed here, or one on the way to it leads in a circle (namei -l " +
		"PATH): put the file itself there",
	unix.EIO: "the disk or its file system fails: look at the kernel's log (dmesg; findmnt PATH; findmnt -T DIR)",
	unix.ENOTCONN: "the program that serves its file system is gone (findmnt PATH; findmnt -T DIR): start it again, " +
		"or unmount it",
	unix.ESTALE: "the network file system under it went away (findmnt PATH; findmnt -T DIR)",
	unix.EAGAIN: "another program has a lease on it and must give it up first (look for LEASE and the inode of PATH in " +
		"/proc/locks)",
	unix.EBUSY: "something is mounted on it or uses it (findmnt PATH; findmnt -R DIR): unmount that first",
}

// IsBlocked reports whether the state of the host prevents the operation, so that a retry does not
// help until somebody changes it. The path is immutable, leads through a link or a file, has a file
// of another type, or is a mount point; or its file system is read-only or full.
func IsBlocked(err error) bool {
	var link *LinkError
	var names *NamesError
	var inTheWay *InTheWayError
	if errors.As(err, &link) || errors.As(err, &names) || errors.As(err, &inTheWay) {
		return true
	}
	return slices.ContainsFunc([]error{unix.EPERM, unix.EBUSY, unix.EROFS, unix.ENOSPC, unix.EDQUOT, unix.ELOOP,
		unix.ENOTDIR}, func(no error) bool { return errors.Is(err, no) })
}

// IsMissing reports whether an error means that the path does not exist, also because a parent is a
// file.
func IsMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) }

// InTheWayError means that a file of another type is at a path. Nothing was changed.
type InTheWayError struct {
	Path string
	Is   FileType // the type that is there
	Want FileType // the type to be written
}

func (e *InTheWayError) Error() string {
	return fmt.Sprintf("%s: a %s is in the way of the %s that goes there: move it away (mv %s %s.old) or take it out "+
		"of the configuration",
		e.Path, e.Is.Noun(), e.Want.Noun(), e.Path, e.Path)
}

// Noun returns the words for the type in a message.
func (t FileType) Noun() string {
	if t == Other {
		return "device, pipe or socket"
	}
	return string(t)
}

// LinkError means that a path leads through a symbolic link that is not followed. Nothing was
// changed.
type LinkError struct {
	Path   string `json:"path"`   // of the link
	Target string `json:"target"` // as the link has it
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("%s is a symbolic link to %s: it is not followed; state it in spec.followLinks if it is yours",
		e.Path, e.Target)
}

// NamesError means that a file has several names (hard links), so its content may belong to another
// user. Nothing was changed.
type NamesError struct {
	Path  string
	Names uint64
}

func (e *NamesError) Error() string {
	return fmt.Sprintf("%s has %s, and may be another's file: it is neither read nor changed; "+
		"remove the other names (find / -xdev -samefile %s) or the file", e.Path, plural.Of(e.Names, "name"), e.Path)
}

// ErrChanged means that another program replaced a path during the operation. It may be retried.
var ErrChanged = errors.New("another program replaced it meanwhile")
