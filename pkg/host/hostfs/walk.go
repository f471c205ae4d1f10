package hostfs

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostfs/xattr"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/selinux"
)

// Whoever is root in a pod with a hostPath can put anything into that directory, at any moment, and
// own it as root does. So nothing that is written, removed or taken down is reached by a name: a
// walk opens one directory after the other, each from the one before, and follows no symbolic link
// but those that the operating system ships at fixed places and those that somebody has stated.

// programDirs are directories of programs of which some lead to others: file-hierarchy(7).
var programDirs = strings.Fields("/bin /sbin /lib /lib32 /lib64 /libx32 /usr/bin /usr/sbin /usr/lib /usr/lib32 " +
	"/usr/lib64 /usr/libx32")

// shippedLinks are the other links of an operating system's own layout, and below what they lead.
// From /home on they are of systems whose root is read-only (https://ostreedev.github.io/ostree/).
var shippedLinks = map[string][]string{
	"/var/run": {"/run"}, "/var/lock": {"/run/lock"}, "/usr/tmp": {"/var/tmp"},
	"/etc/resolv.conf": {"/run", "/usr/lib"}, "/etc/mtab": {"/proc"}, "/etc/localtime": {"/usr/share/zoneinfo"},
	"/etc/os-release": {"/usr/lib"},
	"/home":           {"/var/home"}, "/mnt": {"/var/mnt"}, "/opt": {"/var/opt"}, "/root": {"/var/roothome"},
	"/srv": {"/var/srv"}, "/usr/local": {"/var/usrlocal"},
}

// shipped says that a link and where it leads are of the operating system's own layout.
func shipped(link, to string) bool {
	if slices.Contains(programDirs, link) && slices.Contains(programDirs, to) {
		return true
	}
	return slices.ContainsFunc(shippedLinks[link], func(dir string) bool {
		return to == dir || strings.HasPrefix(to, dir+"/")
	})
}

// Strict implements [Files].
func (f *Reader) Strict() Files { return f.strictly() }

func (f *Reader) strictly() *Reader {
	opt := f.opt
	opt.Stamps = nil
	return &Reader{opt: opt, Paths: f.Paths.strictly()}
}

// Way implements [Files].
func (f *Reader) Way(name string) error {
	name, err := Clean("look for", name)
	if err != nil {
		return err
	}
	fd, _, err := f.Paths.strictly().walk(name, unix.O_PATH|unix.O_CLOEXEC)
	if err == nil {
		return unix.Close(fd)
	}
	if link, ok := errors.AsType[*LinkError](err); ok {
		return link
	}
	return nil
}

// Follow says which symbolic links are followed besides those that the operating system ships
// (spec.followLinks), by their paths without links. It is called before anything is written.
func (f *Reader) Follow(links []string) { f.Paths.links = links }

// Followed are the links that were stated.
func (f *Reader) Followed() []string { return f.Paths.links }

// Paths opens what is below a root, inside of which each path is resolved.
type Paths struct {
	root     int      // the root directory, O_PATH; not used for the running host
	image    bool     // the root is not "/": paths are resolved inside of it
	strict   bool     // see [Files.Strict]
	noOpen   bool     // the kernel has no openat2
	links    []string // see [Reader.Follow]
	anyLinks bool     // see [Options.AnyLinks]
}

func (p Paths) strictly() Paths {
	p.strict = true
	return p
}

// walk opens a cleaned path one element at a time, and says where it is without links. Of a plain
// view a link that is not to be followed is a [LinkError]; else all are followed, inside the root.
func (p Paths) walk(name string, flags int) (fd int, real string, err error) {
	fd, err = p.withoutLinks(name, flags)
	if err == nil || err == unix.ENOENT { // as nearly always
		return fd, name, err
	}
	w, err := p.begin()
	if err != nil {
		return -1, "", err
	}
	defer w.close()
	fd, err = w.open(name, flags)
	return fd, w.real, err
}

// withoutLinks opens a path that has no links at once, where the kernel can (Linux 5.6).
func (p Paths) withoutLinks(name string, flags int) (int, error) {
	if p.noOpen || !p.strict || p.anyLinks {
		return -1, unix.ENOSYS
	}
	at, how := unix.AT_FDCWD, unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_NO_SYMLINKS}
	if p.image {
		at, how.Resolve = p.root, how.Resolve|unix.RESOLVE_IN_ROOT
	}
	return sys.Openat2(at, name, &how)
}

// OpenDir opens a directory for who writes there, and says where it is without links; with makes,
// what is missing of it is made with mode 0755.
func (p Paths) OpenDir(name string, makes bool) (dir int, real string, err error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	p = p.strictly()
	if !makes {
		return p.walk(name, flags)
	}
	if dir, err := p.withoutLinks(name, flags); err == nil {
		return dir, name, nil
	}
	w, err := p.begin()
	if err != nil {
		return -1, "", err
	}
	defer w.close()
	w.makes = true
	dir, err = w.open(name, flags)
	return dir, w.real, err
}

// walkTo opens the directory that a path is in, for who writes there.
func (p Paths) walkTo(name string) (dir int, base string, err error) {
	return p.strictly().OpenParent(name)
}

// walker is a walk under way. It holds every directory that it is below, so that ".." needs no look
// at the disk and a directory that is moved meanwhile cannot lead out.
type walker struct {
	paths Paths
	stack []step // from the root on
	links int    // that were followed
	makes bool
	real  string // what was opened, or is not there, without links
}

// step is a directory that is held, and its path without links.
type step struct {
	fd   int
	name string
}

func (p Paths) begin() (w *walker, err error) {
	root := -1
	if p.image {
		root, err = unix.Openat(p.root, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	} else {
		root, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, err
	}
	return &walker{paths: p, stack: []step{{root, "/"}}}, nil
}

func (w *walker) at() step { return w.stack[len(w.stack)-1] }

// up leaves directories, and the root never.
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

// open goes through a path and opens its end.
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
		fd, err := OpenAt(w.at().fd, e, how|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if (!last || flags&unix.O_NOFOLLOW == 0) &&
			(err == unix.ELOOP || err == unix.ENOTDIR || err == nil && how&(unix.O_PATH|unix.O_DIRECTORY) == unix.O_PATH) {
			if target, not := readlinkat(w.at().fd, e); not == nil {
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
			if err := w.paths.makePublic(fd, path.Join(w.at().name, e)); err != nil {
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

// follow makes ready to go on from where a link leads, if it may be followed.
func (w *walker) follow(base, target string) error {
	here := w.at().name
	link, to := path.Join(here, base), target
	if !path.IsAbs(to) {
		to = path.Join(here, to)
	}
	if w.paths.strict && !w.paths.anyLinks && !shipped(link, path.Clean(to)) && !slices.Contains(w.paths.links, link) {
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
	info, err := statx(w.at().fd, base, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil || info.Type == Directory || info.Type == Symlink {
		return errors.Join(ErrChanged, err)
	}
	return &InTheWayError{Path: path.Join(w.at().name, base), Is: info.Type, Want: Directory}
}

// makePublic gives a directory that was made the mode 0755, whatever the umask or a default ACL,
// and its label.
func (p Paths) makePublic(fd int, name string) error {
	dir, err := OpenAt(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return cmp.Or(p.label(dir, name, selinux.Directory), xattr.DropACL(dir), unix.Fchmod(dir, 0o755))
}

func OpenAt(dir int, name string, flags int, mode uint32) (fd int, err error) {
	err = again(func() error { fd, err = unix.Openat(dir, name, flags, mode); return err })
	return fd, err
}
