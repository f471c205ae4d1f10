package directory

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// seen is the result of stat for a name: its fields or the error.
type seen struct {
	mode fs.FileMode // only the type
	access
	stamp
	err error
}

func seenAs(info fs.FileInfo, err error) seen {
	if err != nil {
		return seen{err: err}
	}
	e := seen{mode: info.Mode().Type(), stamp: stamp{size: info.Size(), mtime: info.ModTime().UnixNano()}}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		e.ctime, e.dev, e.inode = st.Ctim.Nano(), uint64(st.Dev), st.Ino
		e.access = access{st.Mode, st.Uid, st.Gid}
	}
	return e
}

// lstatAll describes objects in a directory. It writes the descriptions into buf. It asks the
// kernel itself: package os keeps three times as much of each as is wanted.
func lstatAll(dir *os.File, names []string, buf []seen) []seen {
	fd, all := int(dir.Fd()), buf[:len(names)]
	inShares(len(names), func(from, to int) {
		for i := from; i < to; i++ {
			all[i].lstat(fd, names[i][strings.LastIndexByte(names[i], '/')+1:])
		}
	})
	return all
}

func (e *seen) lstat(dir int, name string) {
	var st unix.Stat_t
	e.err = unix.EINTR
	for e.err == unix.EINTR {
		e.err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	e.access = access{st.Mode, st.Uid, st.Gid}
	e.mode, e.stamp = typeOf(st.Mode), stamp{st.Size, st.Mtim.Nano(), st.Ctim.Nano(), st.Dev, st.Ino}
}

// typeOf returns the file type in a mode of stat(2).
func typeOf(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	}
	return fs.ModeDevice
}

// access says who may change a file or a directory, by the fields of stat(2).
type access struct{ mode, uid, gid uint32 }

// untrustedOwner returns an error if another user may change the file at this path, which is given
// in parts. within means that it is a directory on the way to the file, where a sticky bit lets
// others only change their own names. It allocates nothing for a trusted file, because a store may
// have ten thousand.
func (a access) untrustedOwner(within bool, parts ...string) error {
	switch {
	case a.uid != 0 && !slices.Contains(ownIDs(os.Geteuid(), "SUDO_UID"), a.uid):
		return notOwn(parts, fmt.Sprintf("belongs to user %d", a.uid), "chown it to root")
	case within && a.mode&unix.S_ISVTX != 0, a.mode&unix.S_IFMT == unix.S_IFLNK:
		return nil
	case a.mode&0o002 != 0:
		return notOwn(parts, fmt.Sprintf("can be written by everybody (%04o)", a.mode&0o7777), "chmod o-w it")
	case a.mode&0o020 != 0 && !slices.Contains(ownIDs(os.Getegid(), "SUDO_GID"), a.gid):
		return notOwn(parts, fmt.Sprintf("can be written by group %d (%04o)", a.gid, a.mode&0o7777), "chmod g-w it")
	}
	return nil
}

// inShares splits the indexes below n into ranges and calls do for each, on all processors. It
// starts no goroutine for a few indexes, which would take longer.
func inShares(n int, do func(from, to int)) {
	var others sync.WaitGroup
	shares := min(runtime.GOMAXPROCS(0), n/64+1)
	for s := 1; s < shares; s++ {
		others.Go(func() { do(s*n/shares, (s+1)*n/shares) })
	}
	do(0, n/shares)
	others.Wait()
}
