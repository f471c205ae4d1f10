package hostfs

import "golang.org/x/sys/unix"

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
