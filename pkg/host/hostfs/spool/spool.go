// Package spool stores fetched data before it is verified.
package spool

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Spool is a file without a name for fetched data that is not verified yet. It is gone when it is
// closed, or when the process ends for any reason. One goroutine may write while others read.
type Spool struct {
	file      *os.File
	room      int64 // bytes that may still be written
	at, begun int64 // offset of the next write; offset up to which write-back has begun
}

// spoolStep is how many bytes may be written before their write-back begins. If a file system has
// much to write back, a sync of a small file waits for all of it.
const spoolStep = 8 << 20

// Open creates a spool in a directory of the host. If the file system does not support files
// without a name, the error is [errors.ErrUnsupported].
func Open(opt hostfs.Options, dir string) (*Spool, error) {
	file, most, err := hostfs.OpenUnnamed(opt, dir)
	if err != nil {
		return nil, err
	}
	return &Spool{file: file, room: min(archive.MaxPacked, most)}, nil
}

// Write implements [io.Writer]. It refuses more than the largest size of an archive, or more than
// half of the free disk space.
func (s *Spool) Write(p []byte) (int, error) {
	if s.room -= int64(len(p)); s.room < 0 {
		return 0, fmt.Errorf("the download is larger than half of the free space in %s, or than %d MiB: free "+
			"some space",
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

// Close frees the disk space.
func (s *Spool) Close() error { return s.file.Close() }

// writeBack waits for the write-back before off, and starts that of n bytes from off on. It is a
// hint.
func writeBack(fd int, off, n int64) {
	_ = unix.SyncFileRange(fd, 0, off, unix.SYNC_FILE_RANGE_WAIT_BEFORE)
	_ = unix.SyncFileRange(fd, off, n, unix.SYNC_FILE_RANGE_WRITE)
}
