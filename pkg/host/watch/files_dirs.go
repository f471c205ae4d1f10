package watch

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/kernel"
)

// fileLinks bounds how many symlinks are followed on the way to one path, as the kernel does
// (namei(7), MAXSYMLINKS).
const fileLinks = 40

// look watches the directories that are at the paths now, and no others. A directory is watched
// before it is looked into, so that what comes into it meanwhile is heard. To watch what is watched
// already changes nothing: the kernel knows it by its inode. The caller holds the lock.
func (f *fileWatch) look() error {
	now := map[int32]*watchedDir{}
	var failed error
	walk := func(p string, all bool) {
		if err := f.walk(now, p, all); err != nil {
			failed = err
		}
	}
	for _, p := range f.want.Paths {
		walk(p, false)
	}
	for _, p := range f.want.Lists {
		walk(p, true)
	}
	for _, unit := range f.want.Units {
		for _, p := range unitLinks(f.root+"/", unit) {
			walk(p, false)
		}
	}
	if f.root == "" {
		for _, key := range f.want.Sysctls {
			if err := f.watchSysctl(now, key); err != nil {
				failed = err
			}
		}
	}
	for wd := range f.dirs {
		if now[wd] == nil {
			_, _ = unix.InotifyRmWatch(f.fd, uint32(wd)) // it may be gone with its directory
		}
	}
	f.dirs = now
	return failed
}

// leads says that a path without links matters, or leads to one that does.
func (f *fileWatch) leads(at string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	parent, name := path.Dir(at), path.Base(at)
	for _, dir := range f.dirs {
		if dir.path == parent && (dir.own[name] || dir.above[name]) {
			return true
		}
	}
	return false
}

// sysctlRoot is what every sysctl is below.
const sysctlRoot = "/proc/sys/"

// watchSysctl watches the directory of a sysctl: the kernel tells of each write to a file of procfs
// (fs/read_write.c, vfs_write). Who writes through another procfs, as a container has, or in
// another network namespace, is not heard; nor is a link's directory once the link was made anew.
func (f *fileWatch) watchSysctl(now map[int32]*watchedDir, key string) error {
	dir, name := path.Split(sysctlRoot + kernel.SysctlPath(key))
	watched, err := f.watch(now, path.Clean(dir))
	if watched != nil {
		watched.own[name] = true
	}
	return err
}

// walk watches the directories on the way to a path, as far as they are there.
func (f *fileWatch) walk(now map[int32]*watchedDir, p string, all bool) error {
	rest, at, links := strings.FieldsFunc(path.Clean(p), isSlash), "/", 0
	dir, err := f.watch(now, at)
	for ; dir != nil && len(rest) > 0; rest = rest[1:] {
		name := rest[0]
		if len(rest) == 1 {
			dir.own[name] = true
		}
		next := path.Join(at, name)
		if name == ".." {
			at = path.Dir(at)
			dir, err = f.watch(now, at)
			continue
		}
		var st unix.Stat_t
		if unix.Lstat(f.root+next, &st) != nil {
			dir.above[name] = true
			return nil // until it comes
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			dir.above[name] = true
			target := make([]byte, unix.PathMax)
			n, lerr := unix.Readlink(f.root+next, target)
			if links++; lerr != nil || links > fileLinks {
				return nil
			}
			to := string(target[:n])
			if path.IsAbs(to) {
				at = "/"
				if dir, err = f.watch(now, at); dir == nil {
					return err
				}
			}
			// the loop drops the first
			rest = slices.Concat(rest[:1], strings.FieldsFunc(path.Clean(to), isSlash), rest[1:])
		case unix.S_IFDIR:
			dir.above[name] = true
			if len(rest) == 1 && !all {
				return nil
			}
			at = next
			if dir, err = f.watch(now, at); dir != nil && len(rest) == 1 {
				dir.all = true
			}
		default:
			return nil
		}
	}
	return err
}

func isSlash(r rune) bool { return r == '/' }

// watch watches one directory, nil where there is none.
func (f *fileWatch) watch(now map[int32]*watchedDir, dir string) (*watchedDir, error) {
	wd, err := unix.InotifyAddWatch(f.fd, f.root+dir, fileEvents)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return nil, nil
	case errors.Is(err, unix.ENOSPC):
		return nil, fmt.Errorf("watch %s: %w: raise fs.inotify.max_user_watches", dir, err)
	case err != nil:
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	d := now[int32(wd)]
	if d == nil {
		d = &watchedDir{path: dir, own: map[string]bool{}, above: map[string]bool{}}
		now[int32(wd)] = d
	}
	return d, nil
}
