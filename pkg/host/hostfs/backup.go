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

// Retain keeps the file at the path from also at the path to, durably, even if its writer has not
// synced it. It gives the file another name (hard link), which needs no space and keeps all
// attributes. It makes a copy with the same owner and mode instead, if to is on another mount (in a
// systemd unit, each path of ReadWritePaths is one) or if SELinux has another label for it: see
// [Linkable]. It creates the directories of to and returns the metadata of the file. It may be
// retried. If the file has a name besides from, to and ours, the error is a [hostpath.NamesError].
//
// A write in place to the file also changes its other name. The agent writes no file in place.
func (w *Writer) Retain(ctx context.Context, from, to string, ours ...string) (FileInfo, error) {
	return w.retain(ctx, from, to, nil, func(info FileInfo, fd int) error {
		return w.files.only(from, info, append(ours, to))
	})
}

// Restore puts a kept file back at the path to, with owner, mode and attributes.
func (w *Writer) Restore(ctx context.Context, kept, to string, spec FileSpec) error {
	_, err := w.retain(ctx, kept, to, spec.Attrs, func(_ FileInfo, fd int) error {
		err := setMeta(fd, spec)
		if errors.Is(err, unix.ENOTSUP) { // no attributes there: the copy gets them
			spec.Attrs = nil
			err = setMeta(fd, spec)
		}
		return err
	})
	return err
}

// only returns an error if a file has names besides its own and those in ours.
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

// retain keeps the file at from also at to. It calls ready with the open file. A copy gets attrs.
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
	defer data.Close() // only read
	if err := ready(info, fd); err != nil {
		return info, hostpath.Explain("keep", from, err)
	}
	if info, err = hostpath.Fstat(fd); err != nil {
		return info, hostpath.Explain("keep", from, err)
	}
	if w.files.Paths.Alike(from, to) {
		err = w.linkFile(there, from, to, info, fd)
		if !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EMLINK) {
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

// linkFile gives a file another name, and replaces a file that has this name. fd is the open file,
// there the directory in which it was found.
func (w *Writer) linkFile(there int, from, to string, of FileInfo, fd int) error {
	dir, _, err := w.files.Paths.OpenDir(path.Dir(to), true)
	if err != nil {
		return hostpath.Explain("keep", to, err)
	}
	defer unix.Close(dir)
	name := path.Base(to)
	// If the name is one of the same file already, a rename would do nothing and leave the
	// temporary name.
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
		// rename(2) changes nothing if both are names of one file. LstatAt did not show this,
		// because another file is mounted on the target.
		if unix.Unlinkat(dir, temp, 0) == nil {
			return hostpath.Explain("keep", to, unix.EBUSY)
		}
		w.log.wrote("kept", to)
	}
	if err := syncAll([]syncItem{{fd: fd, name: from}}); err != nil { // before its name
		return err
	}
	return syncAll([]syncItem{{fd: dir, name: path.Dir(to)}})
}

// openRegularAt opens a regular file in an open directory for reading.
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

// Captured is the recorded state of a path.
type Captured struct {
	FileInfo
	Content []byte // of a regular file that is not larger than the given limit
	Target  string // of a symlink
	Attrs   map[string][]byte
}

// Capture records the state of a path. It follows no symlink, and all values are of the same file.
// If a regular file has a name besides its own and ours, the error is a [hostpath.NamesError]. If
// the path does not exist, it is [fs.ErrNotExist].
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
	defer unix.Close(fd)
	c.FileInfo = info
	if on, err := fsOf(fd); err == nil && on.Type == unix.NSFS_MAGIC {
		c.Type = Other // a network namespace or similar, without content
		return nil
	}
	if err := f.only(name, info, ours); err != nil {
		return err
	}
	if c.Attrs, err = xattr.Portable(fd); err != nil || info.Size > most {
		return err
	}
	content, all, err := readRegular(fd, info.Size, most)
	if c.Content = content; err == nil && !all { // the file has grown
		c.Size = most + 1
	}
	return err
}
