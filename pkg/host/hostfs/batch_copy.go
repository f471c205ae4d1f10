package hostfs

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// CopyError means that a file differs from the one that was to be copied. A retry does not help.
type CopyError struct {
	Path string
	Want Member
}

func (e *CopyError) Error() string {
	return fmt.Sprintf("%s is damaged: it does not have the %d bytes with sha256 %s that it had", e.Path, e.Want.Size,
		e.Want.SHA256)
}

// Copy stages a file with the content of another one. It compares what it staged with want, and
// returns a [CopyError] if they differ, so no other content is put in place. On XFS and Btrfs the
// two files share their blocks until one of them is written. Unlike with two names of one file
// ([Writer.Retain]), a write to one file never changes the other.
func (b *Batch) Copy(from, to string, spec FileSpec, want Member) error {
	from, err := hostpath.Clean("copy", from)
	if err != nil {
		return err
	}
	fd, info, err := b.w.files.strictly().openRegular(from)
	if err != nil {
		return hostpath.Explain("copy", from, err)
	}
	source := os.NewFile(uintptr(fd), from)
	defer source.Close() // only read
	if info.Size != want.Size {
		return &CopyError{Path: from, Want: want}
	}
	return b.stage(to, spec, func(s *Staged) error {
		err := s.fill(source)
		if err == nil && digestOf(s.hash) != want.SHA256 {
			err = &CopyError{Path: from, Want: want}
		}
		return err
	})
}

// piece is the size of the copy buffer, which fits into the processor's cache.
const piece = 128 << 10

var pieces = sync.Pool{New: func() any { return new([piece]byte) }}

// fill copies a file into an empty staged file.
func (s *Staged) fill(from *os.File) error {
	buf := pieces.Get().(*[piece]byte)
	defer pieces.Put(buf)
	if unix.IoctlFileClone(int(s.file.Fd()), int(from.Fd())) != nil {
		// The content must pass the hash, so the kernel may not copy it directly.
		_, err := io.CopyBuffer(struct{ io.Writer }{s}, struct{ io.Reader }{from}, buf[:])
		return hostpath.Explain("copy", from.Name(), unwrapPath(err))
	}
	var err error
	s.size, err = io.CopyBuffer(s.hash, struct{ io.Reader }{s.file}, buf[:])
	return hostpath.Explain("copy", from.Name(), unwrapPath(err))
}

// Room returns how many bytes may still be written on the file system of a directory.
func Room(f *Reader, dir string) (int64, error) {
	return look("find the free space of", dir, func(dir string) (int64, error) {
		fd, _, err := f.Paths.OpenDir(dir, false)
		if err != nil {
			return 0, err
		}
		defer unix.Close(fd)
		return room(fd, dir)
	})
}

// room returns how many bytes may still be written on the file system of an open file.
func room(fd int, name string) (int64, error) {
	of, err := fsOf(fd)
	return int64(of.Bavail) * of.Bsize, hostpath.Explain("find the free space of", name, err)
}
