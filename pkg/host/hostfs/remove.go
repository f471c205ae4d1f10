package hostfs

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// RemoveDurably is [Writer.Remove] with a sync, so that a power cut does not bring the file back.
func (w *Writer) RemoveDurably(name string) error {
	if err := w.Remove(name); err != nil {
		return err
	}
	return w.SyncDirs(path.Dir(path.Clean(name)))
}

// SyncDirs syncs directories from which files were removed, so that a power cut does not bring the
// files back. A directory that does not exist, or is behind a symlink that is not followed, is
// success: nothing was removed from it. It may be retried.
func (w *Writer) SyncDirs(names ...string) error {
	var items []syncItem
	defer func() {
		for _, it := range items {
			unix.Close(it.fd)
		}
	}()
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		name, err := hostpath.Clean("sync", name)
		if err != nil {
			return err
		}
		dir, _, err := w.files.Paths.OpenDir(name, false)
		var link *hostpath.LinkError
		switch {
		case err == unix.ENOENT || err == unix.ENOTDIR || errors.As(err, &link):
		case err != nil:
			return hostpath.Explain("sync", name, err)
		default:
			items = append(items, syncItem{fd: dir, name: name})
		}
	}
	return syncAll(items)
}

// RemoveTree removes a path and everything below it, deepest first. It removes the paths in last
// after the other names of the same directory. A missing path is success. It follows no symlink. A
// mount below the path is an error, and the rest stays. It may be retried.
//
// It keeps each directory open while it empties it. So it does not look into a directory that
// another program puts in its place meanwhile.
func (w *Writer) RemoveTree(ctx context.Context, name string, last ...string) error {
	return w.inParent(name, func(dir int, base, name string) error {
		return tree{w.log, last}.remove(ctx, dir, base, name)
	})
}

// Remove removes a file, a symlink or an empty directory. A missing path is success. It does not
// sync: if a power cut brings the file back, the next pass removes it again.
func (w *Writer) Remove(name string) error {
	return w.inParent(name, func(dir int, base, name string) error {
		err := unix.Unlinkat(dir, base, 0)
		if err == unix.EISDIR {
			err = unix.Unlinkat(dir, base, unix.AT_REMOVEDIR)
		}
		switch err {
		case nil:
			w.log.wrote("removed", name)
		case unix.ENOENT:
			err = nil
		}
		return err
	})
}

// maxAside is how many files of one name are kept aside.
const maxAside = 9

// SetAside gives a file that cannot be used, for the reason why, the name to beside it, or that
// with a number where others have it: to.2. Only the last of maxAside is replaced.
func (w *Writer) SetAside(name, to string, why error) error {
	return w.inParent(name, func(dir int, base, name string) error {
		free := to
		for n := 2; n <= maxAside && unix.Faccessat(dir, free, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) == nil; n++ {
			free = to + "." + strconv.Itoa(n)
		}
		if err := unix.Renameat(dir, base, dir, free); err != nil {
			return hostpath.Explain("set aside", name, err)
		}
		if w.log.to != nil {
			w.log.to.Warn("a file that cannot be used is kept under another name", zap.String("path", name),
				zap.String("as", free), zap.Error(why))
		}
		return nil
	})
}

// inParent calls do with the open directory of a path, the base name and the path. It is for
// functions that remove a path. If the directory does not exist, do is not called.
func (w *Writer) inParent(name string, do func(dir int, base, name string) error) error {
	return at("remove", name, func(name string) error {
		if name == "/" {
			return unix.EBUSY
		}
		dir, base, err := w.files.Paths.Strict().OpenParent(name)
		if hostpath.IsMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		return do(dir, base, name)
	})
}

// tree removes a path with everything below it.
type tree struct {
	log  writeLog
	last []string // paths to be removed after the other names of their directory
}

// remove removes base in an open directory; name is its path.
func (t tree) remove(ctx context.Context, dir int, base, name string) error {
	return hostpath.Explain("remove", name, t.removeIn(ctx, dir, base, name))
}

func (t tree) removeIn(ctx context.Context, dir int, base, name string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(name) >= unix.PathMax { // limits the open descriptors of a deep tree
		return unix.ENAMETOOLONG
	}
	err := hostpath.Again(func() error { return unix.Unlinkat(dir, base, 0) })
	switch {
	case err == unix.ENOENT:
		return nil
	case err == nil:
		t.log.wrote("removed", name)
		return nil
	case err != unix.EISDIR:
		return err
	}
	fd, err := openDir(dir, base)
	switch {
	case err == unix.ENOENT:
		return nil
	case err == unix.ENOTDIR || err == unix.ELOOP:
		return hostpath.ErrChanged
	case err != nil:
		return err
	}
	defer unix.Close(fd)
	if same, err := sameMount(dir, fd); err != nil || !same {
		return cmp.Or(err, errMounted)
	}
	names, err := namesIn(fd, "")
	if err != nil {
		return err
	}
	last := func(below string) int { return slices.Index(t.last, path.Join(name, below)) } // -1: no
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(last(a), last(b)), strings.Compare(a, b))
	})
	for _, below := range names {
		if err := t.remove(ctx, fd, below, path.Join(name, below)); err != nil {
			return err
		}
	}
	if err := unix.Unlinkat(dir, base, unix.AT_REMOVEDIR); err != nil && err != unix.ENOENT {
		return err
	}
	t.log.wrote("removed", name)
	return nil
}

var errMounted = errors.New("a file system is mounted there: unmount it first (findmnt)")

// sameMount reports whether two open directories are on the same mount.
func sameMount(a, b int) (bool, error) {
	first, err := mountOf(a)
	if err != nil {
		return false, err
	}
	second, err := mountOf(b)
	return first == second, err
}
