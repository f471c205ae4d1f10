package hostpath

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// FileType is the type of a path.
type FileType string

// The types of a path.
const (
	Regular   FileType = "file"
	Directory FileType = "directory"
	Symlink   FileType = "symlink"
	Other     FileType = "other" // device, socket, pipe
)

// FileInfo is a path's metadata.
type FileInfo struct {
	Type     FileType
	Mode     fs.FileMode // permission, setuid, setgid and sticky bits
	UID, GID int
	Size     int64
	Inode    uint64
	Dev      uint64
	Links    uint64
	Mtime    int64 // nanoseconds since the epoch
	Ctime    int64
	// Mounted means that the path is a mount point, as single files in a container are.
	Mounted bool
}

// Free returns EBUSY if another file is mounted on the path of a file. The kernel refuses to rename
// or remove such a path. A write in place would change that file at its other path too.
func (i FileInfo) Free() error {
	if i.Mounted && i.Type != Directory {
		return unix.EBUSY
	}
	return nil
}

// SameFile reports whether both are metadata of the same file.
func (i FileInfo) SameFile(o FileInfo) bool { return i.Inode == o.Inode && i.Dev == o.Dev }

// Fstat returns the metadata of an open file.
func Fstat(fd int) (FileInfo, error) { return Stat(fd, "", unix.AT_EMPTY_PATH) }

// LstatAt returns the metadata of a name in an open directory. It follows no symlink.
func LstatAt(dir int, base string) (FileInfo, error) {
	return Stat(dir, base, unix.AT_SYMLINK_NOFOLLOW)
}

// Stat calls statx(2) with its arguments. Before Linux 5.8 the kernel does not report mount points,
// and Mounted is false.
func Stat(at int, name string, flags int) (FileInfo, error) {
	var st unix.Statx_t
	err := Again(func() error {
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

// Readlinkat returns the unchanged target of a symlink in an open directory.
func Readlinkat(dir int, base string) (string, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(dir, base, buf)
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

// modeOf converts the kernel's mode bits to Go's.
func modeOf(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	for _, s := range specialBits {
		if bits&s.bit != 0 {
			mode |= s.mode
		}
	}
	return mode
}

// ModeBits converts Go's mode bits to the kernel's.
func ModeBits(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for _, s := range specialBits {
		if mode&s.mode != 0 {
			bits |= s.bit
		}
	}
	return bits
}

var specialBits = [...]struct {
	bit  uint32
	mode fs.FileMode
}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}}
