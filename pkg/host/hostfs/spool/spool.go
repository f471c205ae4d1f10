// Package spool keeps what is fetched before anybody knows whether it is right.
package spool

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Spool is a file without a name, for what is fetched before anybody knows whether it is right. It
// goes when it is closed, or when the process ends, however it does. One goroutine may write while
// others read what was written.
type Spool struct {
	file      *os.File
	room      int64 // that it may still take
	at, begun int64 // where the next write goes; up to where the disk has begun to write
}

// spoolStep is how many bytes of a spool the disk has not begun with, at most. A file system that
// has much to write makes whoever waits for a small file wait for all of it.
const spoolStep = 8 << 20

// Open makes a spool in a directory of the host. Where the file system has no files without a name
// the error is [errors.ErrUnsupported].
func Open(opt hostfs.Options, dir string) (*Spool, error) {
	file, most, err := hostfs.OpenUnnamed(opt, dir)
	if err != nil {
		return nil, err
	}
	return &Spool{file: file, room: min(archive.MaxPacked, most)}, nil
}

// Write implements [io.Writer]. What is more than an archive may have, or than half of the disk's
// room, is refused.
func (s *Spool) Write(p []byte) (int, error) {
	if s.room -= int64(len(p)); s.room < 0 {
		return 0, fmt.Errorf("what is fetched is larger than half of the room in %s, or than %d MiB: free some space",
			s.file.Name(), archive.MaxPacked>>20)
	}
	n, err := s.file.Write(p)
	if s.at += int64(n); s.at-s.begun >= spoolStep {
		writeBack(int(s.file.Fd()), s.begun, s.at-s.begun)
		s.begun = s.at
	}
	return n, err
}

// ReadAt implements [io.ReaderAt].
func (s *Spool) ReadAt(p []byte, off int64) (int, error) { return s.file.ReadAt(p, off) }

// Close gives its room back.
func (s *Spool) Close() error { return s.file.Close() }

// writeBack has the disk write n bytes of a file from off on, once it has what lies before: a hint.
func writeBack(fd int, off, n int64) {
	_ = unix.SyncFileRange(fd, 0, off, unix.SYNC_FILE_RANGE_WAIT_BEFORE)
	_ = unix.SyncFileRange(fd, off, n, unix.SYNC_FILE_RANGE_WRITE)
}
