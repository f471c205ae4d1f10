//go:build !nofsync

package hostfs

import (
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// fsync and syncfs wait until the disk has a file, or a file system. They are apart so that a build
// without them (the tag nofsync) can show that the power-cut test sees what they prevent, and what
// they cost.
func fsync(fd int) error  { return hostpath.Again(func() error { return unix.Fsync(fd) }) }
func syncfs(fd int) error { return hostpath.Again(func() error { return unix.Syncfs(fd) }) }

// startWriting has the disk begin with a file: a hint, the fsync is what counts.
func startWriting(fd int) { _ = unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WRITE) }
