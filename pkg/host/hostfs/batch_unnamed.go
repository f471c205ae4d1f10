package hostfs

import (
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// Unnamed says of a batch that nothing of it is to be seen before [Batch.Commit]: its files have no
// name (O_TMPFILE), and no directory is made. A kill leaves nothing of it. So it may be written
// before anybody noted what is to change. Its files take at most half of the room that there is.
// Where the file system has no files without a name, [Batch.Create] returns an
// [errors.ErrUnsupported], and where something was mounted meanwhile, Commit an EXDEV: then the
// caller writes a batch with names. It is called first.
func (b *Batch) Unnamed() { b.unnamed = new(int64(-1)) }

// errHalfOfRoom ends an unnamed batch that is too large to be written before everything else.
var errHalfOfRoom = errors.New("it takes more than half of the room on its file system")

// openUnnamed makes the file of s on the file system of its target.
func (b *Batch) openUnnamed(s *Staged) (err error) {
	s.room = b.unnamed
	s.file, err = b.openNearest(s.name)
	return err
}

// openNearest opens a file without a name in the directory of a path, or in the nearest above it
// that is there.
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

// halfOfRoom is how many bytes may be written without a name on the file system of a directory:
// others need room meanwhile.
func halfOfRoom(dir int, name string) (int64, error) {
	free, err := room(dir, name)
	return free / 2, err
}

// OpenUnnamed opens a file without a name in a directory of the host. most is half of the room on
// its file system, in bytes: the caller writes no more. The file goes when it is closed, or when
// the process ends, however it does. Where the file system has no such files the error is
// [errors.ErrUnsupported].
func OpenUnnamed(opt Options, dir string) (file *os.File, most int64, err error) {
	opt.Stamps = nil
	f, err := Open(opt)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close() // only read from
	fd, _, err := f.Paths.OpenDir(dir, false)
	if err != nil {
		return nil, 0, hostpath.Explain("make room for what is fetched in", dir, err)
	}
	defer unix.Close(fd)
	if most, err = halfOfRoom(fd, dir); err != nil {
		return nil, 0, err
	}
	file, err = openUnnamed(fd, dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, 0, err
	}
	return file, most, hostpath.Explain("make room for what is fetched in", dir, err)
}

// openUnnamed opens a file without a name in a directory. It goes when it is closed, or when the
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

// nameFiles gives the files that have no name their staged ones: from here on the batch is as any.
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
	s.temp = "" // until it has it
	open := fmt.Sprintf("/proc/self/fd/%d", s.file.Fd())
	if err := unix.Linkat(unix.AT_FDCWD, open, dir.fd, temp, unix.AT_SYMLINK_FOLLOW); err != nil {
		return err
	}
	s.temp = temp
	return s.label(b.w.files.Paths, there)
}
