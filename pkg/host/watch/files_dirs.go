package watch

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/kernel"
)

// fileLinks is the largest number of symlinks in one path, as in the kernel (namei(7),
// MAXSYMLINKS).
const fileLinks = 40

// look watches the directories that are now at the paths, and no others. It watches a directory
// before it looks into it, so that files created meanwhile cause events. To watch a directory again
// changes nothing, because the kernel identifies it by inode. The caller must hold the lock.
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
	f.dirs, f.byPath = now, make(map[string]*watchedDir, len(now))
	for _, dir := range now {
		f.byPath[dir.path] = dir
	}
	return failed
}

// leads reports whether a path without symlinks is watched, or leads to a watched path. It
// allocates nothing: it is asked about each mount of the host.
func (f *fileWatch) leads(at []byte) bool {
	cut := bytes.LastIndexByte(at, '/')
	if cut < 0 {
		return false
	}
	parent, name := at[:max(cut, 1)], at[cut+1:]
	f.mu.Lock()
	defer f.mu.Unlock()
	dir := f.byPath[string(parent)]
	return dir != nil && (dir.own[string(name)] || dir.above[string(name)])
}

// sysctlRoot is the directory of all sysctls.
const sysctlRoot = "/proc/sys/"

// watchSysctl watches the directory of a sysctl: the kernel reports each write to a file of procfs
// (fs/read_write.c, vfs_write). It does not report writes through another procfs, such as a
// container's, or in another network namespace. Nor does it report the directory of a link after
// the link was created anew.
func (f *fileWatch) watchSysctl(now map[int32]*watchedDir, key string) error {
	dir, name := path.Split(sysctlRoot + kernel.SysctlPath(key))
	watched, err := f.watch(now, path.Clean(dir))
	if watched != nil {
		watched.own[name] = true
	}
	return err
}

// walk watches the existing directories on the way to a path.
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
			return nil // until it exists
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
			// The loop removes the first element.
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

// watch watches one directory. It returns nil if the directory does not exist.
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
