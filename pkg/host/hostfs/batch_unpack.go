package hostfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/archive"
)

// Unpacking says what an archive must be and which of its members go where.
type Unpacking struct {
	Name    string           // for messages: "cni-plugins v1.9.1"
	Sum     archive.Checksum // of the archive as it is fetched
	Dir     string           // where the members go
	Members []string         // base names; a member is found by its path's last element
	Spec    FileSpec         // of every member
}

// Member is one file that was unpacked.
type Member struct {
	SHA256 Digest `json:"sha256"`
	Size   int64  `json:"size"`
}

// Unpack reads an archive from src to its end and stages the wanted members in
// the batch: see [archive.Read]. Nothing is visible before [Batch.Commit], and the caller must
// not commit after an error.
func (b *Batch) Unpack(ctx context.Context, src io.Reader, u Unpacking) (map[string]Member, error) {
	to := staging{b, u, map[string]Member{}}
	if err := archive.Read(ctx, src, archive.Wanted{Name: u.Name, Sum: u.Sum, Members: u.Members}, to); err != nil {
		return nil, err
	}
	return to.got, nil
}

// staging stages members in a batch.
type staging struct {
	b   *Batch
	u   Unpacking
	got map[string]Member
}

// Create implements [archive.MemberWriter].
func (s staging) Create(name string) (io.WriteCloser, error) {
	file, err := s.b.Create(path.Join(s.u.Dir, name), s.u.Spec)
	if err != nil {
		return nil, err
	}
	return stagedMember{file, name, s.got}, nil
}

// Scratch implements [archive.MemberWriter].
func (s staging) Scratch() (io.ReadWriteSeeker, error) {
	file, err := s.b.scratch(s.u.Dir)
	if err != nil {
		return nil, err
	}
	return scratch{file, s.u.Dir}, nil
}

// stagedMember notes what it has when it is closed.
type stagedMember struct {
	*Staged
	name string
	got  map[string]Member
}

func (m stagedMember) Close() error {
	if err := m.Staged.Close(); err != nil {
		return err
	}
	m.got[m.name] = Member{SHA256: m.Sum(), Size: m.Size()}
	return nil
}

// scratch says what to do about a disk that is full.
type scratch struct {
	io.ReadWriteSeeker
	dir string
}

func (s scratch) Write(p []byte) (int, error) {
	n, err := s.ReadWriteSeeker.Write(p)
	if err != nil {
		return n, Explain("write below", s.dir, unwrapPath(err))
	}
	return n, nil
}

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
	free, err := room(fd, dir)
	if err != nil {
		return nil, err
	}
	spool, err := unix.Openat(fd, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL) {
		return nil, errors.ErrUnsupported
	}
	if err != nil {
		return nil, Explain("make room for what is fetched in", dir, err)
	}
	return &Spool{file: os.NewFile(uintptr(spool), dir), room: min(archive.MaxPacked, free/maxSpool)}, nil
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
