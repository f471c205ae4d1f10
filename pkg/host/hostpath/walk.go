package hostpath

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/selinux"
	"github.com/netwright/netwright/pkg/host/xattr"
)

// Walk opens a cleaned path one element at a time, and returns its path without symlinks. A strict
// root returns a [LinkError] for a symlink that must not be followed. Another root follows all
// symlinks, inside the root.
func (r Root) Walk(name string, flags int) (fd int, real string, err error) {
	return r.walk(name, flags, false)
}

// walk is Walk; with makes it also creates missing directories.
func (r Root) walk(name string, flags int, makes bool) (fd int, real string, err error) {
	fd, err = r.withoutLinks(name, flags)
	if err == nil || err == unix.ENOENT && !makes { // the usual case
		return fd, name, err
	}
	at, root := unix.AT_FDCWD, "/"
	if r.image {
		at, root = r.fd, "."
	}
	top, err := OpenAt(at, root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, "", err
	}
	w := &walker{root: r, stack: []step{{top, "/"}}, makes: makes}
	defer w.close()
	fd, err = w.open(name, flags)
	return fd, w.real, err
}

// withoutLinks opens a path without symlinks in one call, if the kernel can (Linux 5.6).
func (r Root) withoutLinks(name string, flags int) (int, error) {
	if !r.strict || r.AnyLink {
		return -1, unix.ENOSYS
	}
	at, how := unix.AT_FDCWD, unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_NO_SYMLINKS}
	if r.image {
		at, how.Resolve = r.fd, how.Resolve|unix.RESOLVE_IN_ROOT
	}
	return sys.Openat2(at, name, &how)
}

// Resolve returns a cleaned path after following all symlinks, inside the root. Parts that do not
// exist stay unchanged.
func (r Root) Resolve(name string) (string, error) {
	fd, real, err := r.Walk(name, unix.O_PATH)
	switch err {
	case nil:
		unix.Close(fd)
	case unix.ENOENT:
	default:
		return "", err
	}
	return real, nil
}

// OpenDir opens a directory for a writer, and returns its path without symlinks. With makes, it
// creates missing directories with mode 0755.
func (r Root) OpenDir(name string, makes bool) (dir int, real string, err error) {
	return r.Strict().walk(name, unix.O_RDONLY|unix.O_DIRECTORY, makes)
}

// walker is the state of a walk. It keeps every directory on the path open. So ".." needs no look
// at the disk, and a directory that is moved meanwhile cannot lead out of the root.
type walker struct {
	root  Root
	stack []step // from the root on
	links int    // symlinks followed so far
	makes bool
	real  string // the opened or missing path, without symlinks
}

// step is an open directory and its path without symlinks.
type step struct {
	fd   int
	name string
}

func (w *walker) at() step { return w.stack[len(w.stack)-1] }

// up closes the last n directories, but never the root.
func (w *walker) up(n int) {
	for ; n > 0 && len(w.stack) > 1; n-- {
		unix.Close(w.at().fd)
		w.stack = w.stack[:len(w.stack)-1]
	}
}

func (w *walker) close() {
	for _, s := range w.stack {
		unix.Close(s.fd)
	}
}

// open walks a path and opens its last element.
func (w *walker) open(name string, flags int) (int, error) {
	todo := elements(name)
	for made := false; len(todo) > 0; {
		e, last, how := todo[0], len(todo) == 1, unix.O_PATH|unix.O_DIRECTORY
		if e == ".." {
			w.up(1)
			todo = todo[1:]
			continue
		}
		if last {
			how = flags
		}
		fd, err := OpenAt(w.at().fd, e, how|unix.O_NOFOLLOW, 0)
		if (!last || flags&unix.O_NOFOLLOW == 0) &&
			(err == unix.ELOOP || err == unix.ENOTDIR || err == nil && how&(unix.O_PATH|unix.O_DIRECTORY) == unix.O_PATH) {
			if target, not := Readlinkat(w.at().fd, e); not == nil {
				if err == nil {
					unix.Close(fd)
				}
				if err := w.follow(e, target); err != nil {
					return -1, err
				}
				todo = append(elements(target), todo[1:]...)
				continue
			}
		}
		switch {
		case err == unix.ENOENT && w.makes && !made:
			if err := unix.Mkdirat(w.at().fd, e, 0o755); err != nil && err != unix.EEXIST {
				return -1, err
			}
			made = true
			continue
		case err == unix.ENOTDIR && w.makes:
			return -1, w.inTheWay(e)
		case err != nil:
			w.real = path.Join(w.at().name, path.Join(todo...))
			return -1, err
		case made:
			if err := w.root.makePublic(fd, path.Join(w.at().name, e)); err != nil {
				unix.Close(fd)
				return -1, err
			}
			made = false
		}
		if w.real = path.Join(w.at().name, e); last {
			return fd, nil
		}
		w.stack = append(w.stack, step{fd, w.real})
		todo = todo[1:]
	}
	w.real = w.at().name
	return OpenAt(w.at().fd, ".", flags, 0)
}

// follow prepares the walk to go on at the target of a symlink, if the symlink may be followed.
func (w *walker) follow(base, target string) error {
	here := w.at().name
	link, to := path.Join(here, base), target
	if !path.IsAbs(to) {
		to = path.Join(here, to)
	}
	if !w.root.follows(link, path.Clean(to)) {
		return &LinkError{Path: link, Target: target}
	}
	if w.links++; w.links > maxLinks {
		return unix.ELOOP
	}
	if path.IsAbs(target) {
		w.up(len(w.stack))
	}
	return nil
}

func (w *walker) inTheWay(base string) error {
	info, err := LstatAt(w.at().fd, base)
	if err != nil || info.Type == Directory || info.Type == Symlink {
		return errors.Join(ErrChanged, err)
	}
	return &InTheWayError{Path: path.Join(w.at().name, base), Is: info.Type, Want: Directory}
}

// makePublic sets the mode 0755 of a new directory, regardless of the umask and a default ACL, and
// its SELinux label.
func (r Root) makePublic(fd int, name string) error {
	dir, err := OpenAt(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return cmp.Or(r.Label(dir, name, selinux.Directory), xattr.DropACL(dir), unix.Fchmod(dir, 0o755))
}

// maxLinks is the largest number of symlinks in one path, as in the kernel.
const maxLinks = 40

func elements(name string) []string {
	all := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	return slices.DeleteFunc(all, func(e string) bool { return e == "." })
}
