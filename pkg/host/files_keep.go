package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// Keep makes to the same file as from, durably, also where whoever wrote it has not synced it: another name of it, so that it costs no room and keeps all that it is, or a copy with its owner and mode
// where it lies on another file system (in a unit of systemd's that is each path of ReadWritePaths). Directories of to are made. It may be done again.
//
// Another name shares what is written to the file in place. That is done to files that something is mounted on only, which have no other name.
func (h *Host) Keep(ctx context.Context, from, to string) error {
	from, err := clean("keep", from)
	if err != nil {
		return err
	}
	if to, err = clean("keep", to); err != nil {
		return err
	}
	source, err := h.files.open(from, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return explain("keep", from, err)
	}
	data := os.NewFile(uintptr(source), from)
	defer data.Close() // only read from
	info, err := statx(source, "", unix.AT_EMPTY_PATH)
	if err != nil {
		return explain("keep", from, err)
	}
	err = h.linkFile(from, to, info, source)
	if !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EMLINK) {
		return err
	}
	b := h.Batch()
	defer b.Discard()
	staged, err := b.Create(to, FileSpec{Mode: info.Mode, UID: info.UID, GID: info.GID})
	if err == nil {
		_, err = io.Copy(staged, data)
	}
	if err == nil {
		err = staged.Close()
	}
	if err == nil {
		err = b.Commit(ctx)
	}
	if err != nil {
		return fmt.Errorf("keep %s as %s: %w", from, to, err)
	}
	return nil
}

// linkFile gives a file another name, in place of what has it. The file is open as fd.
func (h *Host) linkFile(from, to string, of FileInfo, fd int) error {
	there, base, err := h.files.parent(from)
	if err != nil {
		return explain("keep", from, err)
	}
	defer unix.Close(there)
	dir, err := h.files.makeDirs(path.Dir(to))
	if err != nil {
		return explain("keep", to, err)
	}
	defer unix.Close(dir)
	name := path.Base(to)
	// Where it is the same file already a rename would do nothing, and leave the other name.
	if now, err := statx(dir, name, unix.AT_SYMLINK_NOFOLLOW); err != nil || now.Inode != of.Inode || now.Dev != of.Dev {
		temp := stagedName()
		if err := unix.Linkat(there, base, dir, temp, 0); err != nil {
			return explain("keep", from, err)
		}
		if err := unix.Renameat(dir, temp, dir, name); err != nil {
			return errors.Join(explain("keep", to, err), unix.Unlinkat(dir, temp, 0))
		}
		h.wrote("kept", to)
	}
	if err := syncAll([]syncItem{{fd: fd, name: from}}); err != nil { // before its name, which says that it is whole
		return err
	}
	return syncAll([]syncItem{{fd: dir, name: path.Dir(to)}})
}
