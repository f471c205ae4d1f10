package hostfs

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Lstat implements [Files].
func (f *Reader) Lstat(name string) (FileInfo, error) {
	return f.stat(name, unix.O_NOFOLLOW)
}

// Stat describes what a path leads to, a symlink followed inside the root.
func (f *Reader) Stat(name string) (FileInfo, error) {
	return f.stat(name, 0)
}

// stat describes a path; follow is 0 or O_NOFOLLOW.
func (f *Reader) stat(name string, follow int) (FileInfo, error) {
	name, err := Clean("lstat", name)
	if err != nil {
		return FileInfo{}, err
	}
	if !f.Paths.image && !f.Paths.plain {
		at := 0
		if follow != 0 {
			at = unix.AT_SYMLINK_NOFOLLOW
		}
		info, err := statx(unix.AT_FDCWD, name, at)
		return info, Explain("lstat", name, err)
	}
	fd, err := f.Paths.open(name, unix.O_PATH|follow, 0)
	if err != nil {
		return FileInfo{}, Explain("lstat", name, err)
	}
	defer unix.Close(fd)
	info, err := statx(fd, "", unix.AT_EMPTY_PATH)
	return info, Explain("lstat", name, err)
}

// Readlink implements [Files].
func (f *Reader) Readlink(name string) (string, error) {
	name, err := Clean("readlink", name)
	if err != nil {
		return "", err
	}
	dir, base, err := f.Paths.OpenParent(name)
	if err != nil {
		return "", Explain("readlink", name, err)
	}
	defer unix.Close(dir)
	target, err := readlinkat(dir, base)
	return target, Explain("readlink", name, err)
}

// ReadDir implements [Files].
func (f *Reader) ReadDir(name string) ([]string, error) {
	name, err := Clean("read directory", name)
	if err != nil {
		return nil, err
	}
	fd, err := f.Paths.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, Explain("read directory", name, err)
	}
	return names(fd, name)
}

// names lists a directory, sorted, and closes it.
func names(fd int, name string) ([]string, error) {
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close()
	list, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, Explain("read directory", name, errors.Unwrap(err))
	}
	slices.Sort(list)
	return list, nil
}
