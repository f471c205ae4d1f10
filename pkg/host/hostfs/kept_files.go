package hostfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/xattr"
)

// Retain makes to the same file as from, durably, also where whoever wrote it has not synced it:
// another name of it, so that it costs no room and keeps all that it is, or a copy with its owner
// and mode where it lies on another file system (in a unit of systemd's that is each path of
// ReadWritePaths), or where SELinux would have another label for it: see [Linkable].
// Directories of to are made. It may be done again. What is kept is returned. A
// file that has a name besides from, to and ours is a [hostpath.NamesError].
//
// Another name shares what is written to the file in place. That is done to files that something is
// mounted on only, which have no other name.
func (w *Writer) Retain(ctx context.Context, from, to string, ours ...string) (FileInfo, error) {
	return w.retain(ctx, from, to, nil, func(info FileInfo, fd int) error {
		return w.files.only(from, info, append(ours, to))
	})
}

// Restore makes to the file again that was kept, with owner, mode and attributes.
func (w *Writer) Restore(ctx context.Context, kept, to string, spec FileSpec) error {
	_, err := w.retain(ctx, kept, to, spec.Attrs, func(_ FileInfo, fd int) error {
		err := setMeta(fd, spec)
		if errors.Is(err, unix.ENOTSUP) { // a copy on a file system without attributes: the next copy has them
			spec.Attrs = nil
			err = setMeta(fd, spec)
		}
		return err
	})
	return err
}

// only says that a file has no name besides its own and those of ours that are names of it.
func (f *Reader) only(name string, info FileInfo, ours []string) error {
	names := info.Links
	for _, name := range ours {
		if at, err := f.Lstat(name); err == nil && at.SameFile(info) {
			names--
		}
	}
	if names > 1 {
		return &hostpath.NamesError{Path: name, Names: names}
	}
	return nil
}

// retain makes to the same file as from. ready is called with the open file, and a copy gets attrs.
func (w *Writer) retain(
	ctx context.Context, from, to string, attrs map[string][]byte, ready func(info FileInfo, fd int) error,
) (info FileInfo, err error) {
	if from, err = hostpath.Clean("keep", from); err != nil {
		return info, err
	}
	if to, err = hostpath.Clean("keep", to); err != nil {
		return info, err
	}
	there, base, err := w.files.Paths.Strict().OpenParent(from)
	if err != nil {
		return info, hostpath.Explain("keep", from, err)
	}
	defer unix.Close(there)
	fd, info, err := openRegularAt(there, base)
	if err != nil {
		return info, hostpath.Explain("keep", from, err)
	}
	data := os.NewFile(uintptr(fd), from)
	defer data.Close() // only read from
	if err := ready(info, fd); err != nil {
		return info, hostpath.Explain("keep", from, err)
	}
	if info, err = hostpath.Fstat(fd); err != nil {
		return info, hostpath.Explain("keep", from, err)
	}
	if w.files.Paths.Alike(from, to) {
		err = w.linkFile(there, from, to, info, fd)
		if !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EMLINK) &&
			!errors.Is(err, unix.EBUSY) {
			return info, err
		}
	}
	b := w.Batch()
	defer b.Discard()
	spec := FileSpec{Mode: info.Mode, UID: info.UID, GID: info.GID, Attrs: attrs}
	err = b.stage(to, spec, func(s *Staged) error {
		_, err := io.Copy(s, data)
		return err
	})
	if err == nil {
		err = b.Commit(ctx)
	}
	if err != nil {
		return info, fmt.Errorf("keep %s as %s: %w", from, to, err)
	}
	return info, nil
}

// linkFile gives a file another name, in place of what has it. The file is open as fd, and was
// found in the directory there.
func (w *Writer) linkFile(there int, from, to string, of FileInfo, fd int) error {
	dir, _, err := w.files.Paths.OpenDir(path.Dir(to), true)
	if err != nil {
		return hostpath.Explain("keep", to, err)
	}
	defer unix.Close(dir)
	name := path.Base(to)
	// Where it is the same file already a rename would do nothing, and leave the other name.
	if now, err := hostpath.LstatAt(dir, name); err != nil || !now.SameFile(of) {
		temp := stagedName()
		if err := mayStage(dir); err != nil {
			return hostpath.Explain("keep", to, err)
		}
		if err := unix.Linkat(there, path.Base(from), dir, temp, 0); err != nil {
			return hostpath.Explain("keep", from, err)
		}
		if got, err := hostpath.LstatAt(dir, temp); err != nil || !got.SameFile(of) {
			return errors.Join(hostpath.Explain("keep", from, cmp.Or(err, hostpath.ErrChanged)), unix.Unlinkat(dir, temp, 0))
		}
		if err := unix.Renameat(dir, temp, dir, name); err != nil {
			return errors.Join(hostpath.Explain("keep", to, err), unix.Unlinkat(dir, temp, 0))
		}
		// rename(2) leaves two names of one file as they are: another is mounted on the second.
		if unix.Unlinkat(dir, temp, 0) == nil {
			return hostpath.Explain("keep", to, unix.EBUSY)
		}
		w.log.wrote("kept", to)
	}
	if err := syncAll([]syncItem{{fd: fd, name: from}}); err != nil { // before its name, which says that it is whole
		return err
	}
	return syncAll([]syncItem{{fd: dir, name: path.Dir(to)}})
}

// openRegularAt opens a regular file in a directory that is held, for reading.
func openRegularAt(dir int, base string) (int, FileInfo, error) {
	info, err := hostpath.LstatAt(dir, base)
	if err != nil || info.Type != Regular { // a device is not even opened
		return -1, info, cmp.Or(err, errors.New("not a regular file"))
	}
	fd, err := hostpath.Quietly(func(more int) (int, error) {
		return hostpath.OpenAt(dir, base, toRead|more, 0)
	})
	if err != nil {
		return -1, info, err
	}
	if info, err = hostpath.Fstat(fd); err != nil || info.Type != Regular {
		unix.Close(fd)
		return -1, info, cmp.Or(err, hostpath.ErrChanged)
	}
	return fd, info, nil
}

// Captured is a path as it is.
type Captured struct {
	FileInfo
	Content []byte // of a regular file, if it is not larger than was asked for
	Target  string // of a symlink
	Attrs   map[string][]byte
}

// Capture takes down how a path is, reached through no link, all of it of one file. Of a regular
// file that has a name besides its own and ours it is a [hostpath.NamesError].
// [fs.ErrNotExist] if absent.
func (f *Reader) Capture(name string, most int64, ours ...string) (Captured, error) {
	return look("take down", name, func(name string) (c Captured, err error) {
		dir, base, err := f.Paths.Strict().OpenParent(name)
		if err != nil {
			return c, err
		}
		defer unix.Close(dir)
		if c.FileInfo, err = hostpath.LstatAt(dir, base); err != nil {
			return c, err
		}
		switch c.Type {
		case Symlink:
			c.Target, err = hostpath.Readlinkat(dir, base)
		case Regular:
			err = f.capture(dir, base, name, most, ours, &c)
		case Directory:
			var fd int
			if fd, err = openDir(dir, base); err == nil {
				defer unix.Close(fd)
				c.Attrs, err = xattr.Portable(fd)
			}
		case Other:
		}
		return c, err
	})
}

func (f *Reader) capture(dir int, base, name string, most int64, ours []string, c *Captured) error {
	fd, info, err := openRegularAt(dir, base)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close() // only read from
	c.FileInfo = info
	if on, err := fsOf(fd); err == nil && on.Type == unix.NSFS_MAGIC {
		c.Type = Other // a namespace, which has no content
		return nil
	}
	if err := f.only(name, info, ours); err != nil {
		return err
	}
	if c.Attrs, err = xattr.Portable(fd); err != nil || info.Size > most {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if int64(len(content)) > most { // it grew
		c.Size = int64(len(content))
		return nil
	}
	c.Content = content
	return unwrapPath(err)
}
