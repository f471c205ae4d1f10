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
	if !f.Paths.image && !f.Paths.strict {
		at := 0
		if follow != 0 {
			at = unix.AT_SYMLINK_NOFOLLOW
		}
		info, err := statx(unix.AT_FDCWD, name, at)
		return info, Explain("lstat", name, err)
	}
	fd, err := f.Paths.open(name, unix.O_PATH|follow)
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
	dir, base := unix.AT_FDCWD, name
	if f.Paths.image || f.Paths.strict {
		if dir, base, err = f.Paths.OpenParent(name); err != nil {
			return "", Explain("readlink", name, err)
		}
		defer unix.Close(dir)
	}
	target, err := readlinkat(dir, base)
	return target, Explain("readlink", name, err)
}

// Resolve implements [Files].
func (f *Reader) Resolve(name string) (string, error) {
	name, err := Clean("resolve", name)
	if err != nil {
		return "", err
	}
	w, err := f.Paths.begin()
	if err != nil {
		return "", Explain("resolve", name, err)
	}
	defer w.close()
	fd, err := w.open(name, unix.O_PATH)
	switch err {
	case nil:
		unix.Close(fd)
	case unix.ENOENT:
	default:
		return "", Explain("resolve", name, err)
	}
	return w.real, nil
}

// ReadDir implements [Files].
func (f *Reader) ReadDir(name string) ([]string, error) {
	name, err := Clean("read directory", name)
	if err != nil {
		return nil, err
	}
	fd, err := f.Paths.open(name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, Explain("read directory", name, err)
	}
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close()
	list, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, Explain("read directory", name, errors.Unwrap(err))
	}
	slices.Sort(list)
	return list, nil
}

// statx describes what at and name say. The attribute for a mount point is
// there since Linux 5.8; before, Mounted is false.
func statx(at int, name string, flags int) (FileInfo, error) {
	var st unix.Statx_t
	err := again(func() error {
		return unix.Statx(at, name, flags|unix.AT_NO_AUTOMOUNT, unix.STATX_BASIC_STATS, &st)
	})
	if err != nil {
		return FileInfo{}, err
	}
	info := FileInfo{
		Type: Other, Mode: modeOf(uint32(st.Mode)), UID: int(st.Uid), GID: int(st.Gid), Size: int64(st.Size),
		Inode: st.Ino, Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Links: uint64(st.Nlink),
		Mtime: st.Mtime.Sec*1e9 + int64(st.Mtime.Nsec), Ctime: st.Ctime.Sec*1e9 + int64(st.Ctime.Nsec),
		Mounted: st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0,
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		info.Type = Regular
	case unix.S_IFDIR:
		info.Type = Directory
	case unix.S_IFLNK:
		info.Type = Symlink
	}
	return info, nil
}
