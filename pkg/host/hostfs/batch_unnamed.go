package hostfs

import (
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// Unnamed makes a batch invisible before [Batch.Commit]: its files have no name (O_TMPFILE), and no
// directory is created. A kill leaves nothing behind. So such a batch may be written before the
// change is recorded. Its files take at most half of the free space. If the file system does not
// support such files, [Batch.Create] returns an [errors.ErrUnsupported]; if something was mounted
// meanwhile, Commit returns EXDEV. Then the caller writes a batch with names. Unnamed must be
// called first.
func (b *Batch) Unnamed() { b.unnamed = new(int64(-1)) }

// errHalfOfRoom means that an unnamed batch is too large to be written before the change is
// recorded.
var errHalfOfRoom = errors.New("it takes more than half of the free space on its file system")

// openUnnamed opens the file of s on the file system of its target.
func (b *Batch) openUnnamed(s *Staged) (err error) {
	s.room = b.unnamed
	s.file, err = b.openNearest(s.name)
	return err
}

// openNearest opens a file without a name in the directory of a path, or in the nearest parent that
// exists.
func (b *Batch) openNearest(name string) (*os.File, error) {
	dir, _, err := openNearestParent(b.w.files.Paths, name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	if *b.unnamed < 0 {
		if *b.unnamed, err = halfOfRoom(dir, name); err != nil {
			return nil, err
		}
	}
	return openUnnamed(dir, name)
}

// halfOfRoom returns how many bytes may be written without a name on the file system of a
// directory. The other half stays free for other programs.
func halfOfRoom(dir int, name string) (int64, error) {
	free, err := room(dir, name)
	return free / 2, err
}

// OpenUnnamed opens a file without a name in a directory of the host. The caller must write at most
// most bytes, half of the free space on the file system. The file is gone when it is closed, or
// when the process ends for any reason. If the file system does not support such files, the error
// is [errors.ErrUnsupported].
func OpenUnnamed(opt Options, dir string) (file *os.File, most int64, err error) {
	opt.Stamps = nil
	f, err := Open(opt)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close() // only read
	fd, _, err := f.Paths.OpenDir(dir, false)
	if err != nil {
		return nil, 0, hostpath.Explain("reserve space for a download in", dir, err)
	}
	defer unix.Close(fd)
	if most, err = halfOfRoom(fd, dir); err != nil {
		return nil, 0, err
	}
	file, err = openUnnamed(fd, dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, 0, err
	}
	return file, most, hostpath.Explain("reserve space for a download in", dir, err)
}

// openUnnamed opens a file without a name in a directory. It is gone when it is closed, or when the
// process ends, unless it gets a name before.
func openUnnamed(dir int, name string) (*os.File, error) {
	fd, err := unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL) {
		return nil, errors.ErrUnsupported
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// nameFiles gives each file without a name its staged name. After that the batch is a normal one.
func (b *Batch) nameFiles() error {
	b.unnamed = nil
	for _, s := range b.all {
		if s.temp != "" {
			continue
		}
		if err := b.nameFile(s); err != nil {
			return hostpath.Explain("write", s.name, err)
		}
	}
	return nil
}

func (b *Batch) nameFile(s *Staged) error {
	dir, err := b.dir(path.Dir(s.name), true)
	if err != nil {
		return err
	}
	there, err := s.enter(dir)
	if err != nil {
		return err
	}
	temp := s.temp
	s.temp = "" // until the file has the name
	open := fmt.Sprintf("/proc/self/fd/%d", s.file.Fd())
	if err := unix.Linkat(unix.AT_FDCWD, open, dir.fd, temp, unix.AT_SYMLINK_FOLLOW); err != nil {
		return err
	}
	s.temp = temp
	return s.label(b.w.files.Paths, there)
}
