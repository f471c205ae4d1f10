package hostfs

import (
	"bytes"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// Lstat implements [Files].
func (f *Reader) Lstat(name string) (FileInfo, error) {
	return f.stat(name, unix.O_NOFOLLOW)
}

// Stat returns the metadata of a path. It follows symlinks, inside the root.
func (f *Reader) Stat(name string) (FileInfo, error) {
	return f.stat(name, 0)
}

// stat returns the metadata of a path; follow is 0 or O_NOFOLLOW.
func (f *Reader) stat(name string, follow int) (FileInfo, error) {
	return look("lstat", name, func(name string) (FileInfo, error) {
		if !f.Paths.IsImage() && !f.Paths.IsStrict() {
			at := 0
			if follow != 0 {
				at = unix.AT_SYMLINK_NOFOLLOW
			}
			return hostpath.Stat(unix.AT_FDCWD, name, at)
		}
		fd, err := f.Paths.Open(name, unix.O_PATH|follow)
		if err != nil {
			return FileInfo{}, err
		}
		defer unix.Close(fd)
		return hostpath.Fstat(fd)
	})
}

// Readlink implements [Files].
func (f *Reader) Readlink(name string) (string, error) {
	return look("readlink", name, func(name string) (string, error) {
		if !f.Paths.IsImage() && !f.Paths.IsStrict() {
			return hostpath.Readlinkat(unix.AT_FDCWD, name)
		}
		dir, base, err := f.Paths.OpenParent(name)
		if err != nil {
			return "", err
		}
		defer unix.Close(dir)
		return hostpath.Readlinkat(dir, base)
	})
}

// Resolve implements [Files].
func (f *Reader) Resolve(name string) (string, error) { return look("resolve", name, f.Paths.Resolve) }

// ReadDir implements [Files].
func (f *Reader) ReadDir(name string) ([]string, error) {
	return look("read directory", name, func(name string) ([]string, error) {
		fd, err := f.Paths.Open(name, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return nil, err
		}
		defer unix.Close(fd)
		list, err := namesIn(fd, "")
		slices.Sort(list)
		return list, err
	})
}

// namesIn lists the names in a directory that was just opened, as they come: all in which part
// stands, and maybe others.
func namesIn(dir int, part string) (names []string, err error) {
	for buf, n := make([]byte, 8<<10), 1; n > 0; {
		if err = hostpath.Again(func() error { n, err = unix.ReadDirent(dir, buf); return err }); err != nil {
			return nil, err
		}
		if bytes.Contains(buf[:n], []byte(part)) {
			_, _, names = unix.ParseDirent(buf[:n], -1, names)
		}
	}
	return names, nil
}

// Strict implements [Files].
func (f *Reader) Strict() Files { return f.strictly() }

func (f *Reader) strictly() *Reader {
	opt := f.opt
	opt.Stamps = nil
	return &Reader{opt: opt, Paths: f.Paths.Strict()}
}

// Way implements [Files].
func (f *Reader) Way(name string) error {
	name, err := hostpath.Clean("look for", name)
	if err != nil {
		return err
	}
	fd, _, err := f.Paths.Strict().Walk(name, unix.O_PATH)
	if err == nil {
		return unix.Close(fd)
	}
	if link, ok := errors.AsType[*hostpath.LinkError](err); ok {
		return link
	}
	return nil
}

// Follow sets the symbolic links that are followed besides those of the operating system
// (spec.followLinks). The paths of the links must have no symlinks themselves. It must be called
// before anything is written.
func (f *Reader) Follow(links []string) { f.Paths.Links = links }

// Followed returns the links set by Follow.
func (f *Reader) Followed() []string { return f.Paths.Links }
