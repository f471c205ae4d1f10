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
)

// Explain wraps an error of a path with the operation, and says what a person
// can do about it where the kernel's own words do not. Nil stays nil.
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

// advices say what to do next; PATH is the path, DIR its directory.
var advices = map[syscall.Errno]string{
	unix.ENOSPC: "free some space or inodes (df -h DIR; df -i DIR)",
	unix.EDQUOT: "raise the quota or free some space (quota; df -h DIR)",
	unix.EROFS:  "mount it writable, or configure a directory that is (findmnt -T DIR)",
	unix.EPERM: "run as root, and look whether the file or directory is immutable or only grows (lsattr -d DIR; " +
		"chattr -i -a)",
	unix.EACCES:  "run as root, and look for a denial of SELinux or AppArmor (journalctl -k -g denied)",
	unix.ENOTDIR: "a parent is a file where a directory goes: move it away (namei -l DIR)",
	unix.ELOOP: "it is a symlink, which is not followed here, or one on the way to it leads in a circle (namei -l " +
		"PATH): put the file itself there",
	unix.EIO:      "the disk or its file system fails: look at the kernel's log (dmesg; findmnt -T DIR)",
	unix.ENOTCONN: "the program that serves its file system is gone (findmnt -T DIR): start it again, or unmount it",
	unix.ETXTBSY:  "a process executes it: stop that one first (fuser -v in DIR)",
	unix.ESTALE:   "the network file system under it went away (findmnt -T DIR)",
	unix.EBUSY:    "something is mounted on it or uses it (findmnt -R DIR)",
}

// IsBlocked says that the host itself keeps a path as it is, for as long as nobody changes that: it
// is immutable, leads through a link or over a file, something else is in its place, or its file
// system is read-only or full.
func IsBlocked(err error) bool {
	var link *LinkError
	var names *NamesError
	var inTheWay *InTheWayError
	if errors.As(err, &link) || errors.As(err, &names) || errors.As(err, &inTheWay) {
		return true
	}
	return slices.ContainsFunc([]error{unix.EPERM, unix.EROFS, unix.ENOSPC, unix.EDQUOT, unix.ELOOP, unix.ENOTDIR},
		func(no error) bool { return errors.Is(err, no) })
}

// IsMissing says that nothing can be at a path, for a file where its parent would be too.
func IsMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) }

// InTheWayError says that a path holds something of another type than what
// goes there. Nothing was done.
type InTheWayError struct {
	Path string
	Is   FileType // what is there
	Want FileType // what goes there
}

func (e *InTheWayError) Error() string {
	return fmt.Sprintf("%s: a %s is in the way of the %s that goes there: move it away (mv %s %s.old) or take it out "+
		"of the configuration",
		e.Path, e.Is.noun(), e.Want.noun(), e.Path, e.Path)
}

func (t FileType) noun() string {
	if t == Other {
		return "device, pipe or socket"
	}
	return string(t)
}

// LinkError says that a path leads through a symbolic link that is not followed. Nothing was done.
type LinkError struct {
	Path   string `json:"path"`   // of the link
	Target string `json:"target"` // as it is written there
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("%s is a symbolic link to %s: it is not followed; state it in spec.followLinks if it is yours",
		e.Path, e.Target)
}

// NamesError says that a file has more names (hard links) than one: what it holds may be another's.
// Nothing was done.
type NamesError struct {
	Path  string
	Names uint64
}

func (e *NamesError) Error() string {
	return fmt.Sprintf("%s has %d names, and may be another's file: it is neither read nor changed; "+
		"remove the other names (find / -xdev -samefile %s) or the file", e.Path, e.Names, e.Path)
}

// ErrChanged says that a path was replaced while something was done to it. It may be retried.
var ErrChanged = errors.New("somebody replaced it meanwhile")
