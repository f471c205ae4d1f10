package host

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// RemoveDurably is [Host.Remove], and no power cut brings it back.
func (h *Host) RemoveDurably(name string) error {
	if err := h.Remove(name); err != nil {
		return err
	}
	return h.SyncDirs(path.Dir(path.Clean(name)))
}

// SyncDirs makes durable what was removed from directories: no power cut brings it back. One that is
// not there is success. It may be retried.
func (h *Host) SyncDirs(names ...string) error {
	var items []syncItem
	defer func() {
		for _, it := range items {
			unix.Close(it.fd)
		}
	}()
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		name, err := clean("sync", name)
		if err != nil {
			return err
		}
		dir, err := h.files.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		switch {
		case err == unix.ENOENT || err == unix.ENOTDIR:
		case err != nil:
			return explain("sync", name, err)
		default:
			items = append(items, syncItem{fd: dir, name: name})
		}
	}
	return syncAll(items)
}

// RemoveTree removes a path with all that is below it, deepest first, and the paths in last after all others beside them; absence is
// success. It follows no link, and where a file system is mounted on the way it is an error, with the rest still there. It may be retried.
func (h *Host) RemoveTree(ctx context.Context, name string, last ...string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	info, err := h.Lstat(name)
	if errors.Is(err, ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Type == Directory {
		if fstype, err := h.Mounted(name); err == nil {
			return fmt.Errorf("remove %s: a file system (%s) is mounted there: unmount it first", name, fstype)
		}
		names, err := h.ReadDir(name)
		if err != nil {
			return err
		}
		late := func(base string) bool { return slices.Contains(last, path.Join(name, base)) }
		names = append(slices.DeleteFunc(slices.Clone(names), late), slices.DeleteFunc(names, func(base string) bool { return !late(base) })...)
		for _, below := range names {
			if err := h.RemoveTree(ctx, path.Join(name, below), last...); err != nil {
				return err
			}
		}
	}
	return h.Remove(name)
}
