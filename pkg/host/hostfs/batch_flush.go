//go:build !nofsync

package hostfs

import (
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// fsync and syncfs wait until a file or a file system is on the disk. They are in a separate file,
// so that a build without them (tag nofsync) can show that the power-cut test detects their
// absence, and what they cost.
func fsync(fd int) error  { return hostpath.Again(func() error { return unix.Fsync(fd) }) }
func syncfs(fd int) error { return hostpath.Again(func() error { return unix.Syncfs(fd) }) }

// startWriting asks the kernel to begin to write a file to the disk. This is only a hint: the later
// fsync guarantees it.
func startWriting(fd int) { _ = unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WRITE) }
