package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"
)

// AppendFile adds data to the end of a file and syncs it: what it has added
// is there after a power cut, whole or, if the cut came first, in part. A file that is
// absent is made, with the mode given, and its directory synced. It is for the ledger's
// journal, and for the intents of [Batch.Atomic].
func (w *Writer) AppendFile(name string, data []byte, mode fs.FileMode) (err error) {
	name, err = Clean("append to", name)
	if err != nil {
		return err
	}
	dir, _, err := w.files.Paths.OpenDir(path.Dir(name), true)
	if err != nil {
		return Explain("append to", name, err)
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, path.Base(name),
		unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode.Perm()))
	if err != nil {
		return Explain("append to", name, err)
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	if err := single(fd, name); err != nil {
		return Explain("append to", name, err)
	}
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return Explain("append to", name, err)
		}
		data = data[n:]
	}
	return syncAll([]syncItem{{fd: fd, name: name}, {fd: dir, name: path.Dir(name)}})
}

// SetMtime gives a file, directory or symlink the time of change that it had
// before, in nanoseconds since the epoch. The time of access becomes the same.
func (w *Writer) SetMtime(name string, mtime int64) error {
	name, err := Clean("set the time of", name)
	if err != nil {
		return err
	}
	dir, base, err := w.files.Paths.walkTo(name)
	if err != nil {
		return Explain("set the time of", name, err)
	}
	defer unix.Close(dir)
	fd, err := OpenAt(dir, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return Explain("set the time of", name, err)
	}
	defer unix.Close(fd)
	info, err := statx(fd, "", unix.AT_EMPTY_PATH)
	if err == nil && info.Type == Regular && info.Links > 1 {
		err = &NamesError{Path: name, Names: info.Links}
	}
	if err == nil {
		err = setTime(fd, mtime)
	}
	if err != nil {
		return fmt.Errorf("set the time of %s: %w", name, err)
	}
	return nil
}
