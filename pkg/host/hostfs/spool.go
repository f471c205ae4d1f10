package hostfs

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/archive"
)

// Spool is a file without a name, for what is fetched before anybody knows whether it is right. It
// goes when it is closed, or when the process ends, however it does. One goroutine may write while
// others read what was written.
type Spool struct {
	file      *os.File
	room      int64 // that it may still take
	at, begun int64 // where the next write goes; up to where the disk has begun to write
}

// maxSpool is how much of a disk's free room a spool may take: one part in so many.
const maxSpool = 2

// spoolStep is how many bytes of a spool the disk has not begun with, at most. A file system that
// has much to write makes whoever waits for a small file wait for all of it.
const spoolStep = 8 << 20

// OpenSpool makes a spool in a directory of the host. Where the file system has no files without a
// name the error is [errors.ErrUnsupported].
func OpenSpool(opt Options, dir string) (*Spool, error) {
	opt.Stamps = nil
	f, err := Open(opt)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from
	fd, _, err := f.Paths.OpenDir(dir, false)
	if err != nil {
		return nil, Explain("make room for what is fetched in", dir, err)
	}
	defer unix.Close(fd)
	var of unix.Statfs_t
	if err := again(func() error { return unix.Fstatfs(fd, &of) }); err != nil {
		return nil, Explain("look for room in", dir, err)
	}
	spool, err := unix.Openat(fd, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL) {
		return nil, errors.ErrUnsupported
	}
	if err != nil {
		return nil, Explain("make room for what is fetched in", dir, err)
	}
	return &Spool{file: os.NewFile(uintptr(spool), dir),
		room: min(archive.MaxPacked, int64(of.Bavail)*of.Bsize/maxSpool)}, nil
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
