package host

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
// journal, and for the intents of [Batch.Together].
func (h *Host) AppendFile(name string, data []byte, mode fs.FileMode) (err error) {
	name, err = clean("append to", name)
	if err != nil {
		return err
	}
	dir, err := h.files.makeDirs(path.Dir(name))
	if err != nil {
		return explain("append to", name, err)
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, path.Base(name), unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode.Perm()))
	if err != nil {
		return explain("append to", name, err)
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return explain("append to", name, err)
		}
		data = data[n:]
	}
	return syncAll([]syncItem{{fd: fd, name: name}, {fd: dir, name: path.Dir(name)}})
}

// SetMtime gives a file, directory or symlink the time of change that it had
// before, in nanoseconds since the epoch. The time of access becomes the same.
func (h *Host) SetMtime(name string, mtime int64) error {
	name, err := clean("set the time of", name)
	if err != nil {
		return err
	}
	dir, base, err := h.files.parent(name)
	if err != nil {
		return explain("set the time of", name, err)
	}
	defer unix.Close(dir)
	at := unix.NsecToTimespec(mtime)
	if err := unix.UtimesNanoAt(dir, base, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("set the time of %s: %w", name, err)
	}
	return nil
}
