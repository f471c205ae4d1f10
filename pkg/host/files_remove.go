package host

import (
	"path"

	"golang.org/x/sys/unix"
)

// RemoveDurably is [Host.Remove], and no power cut brings it back.
func (h *Host) RemoveDurably(name string) error {
	if err := h.Remove(name); err != nil {
		return err
	}
	name, err := clean("remove", name)
	if err != nil {
		return err
	}
	dir, err := h.files.open(path.Dir(name), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return explain("remove", name, err)
	}
	defer unix.Close(dir)
	return syncAll([]syncItem{{fd: dir, name: path.Dir(name)}})
}
