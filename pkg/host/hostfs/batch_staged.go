package hostfs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/selinux"
	"github.com/netwright/netwright/pkg/host/xattr"
)

// Staged is a file that is written beside its target and not in place yet.
// It is an [io.WriteCloser].
type Staged struct {
	dir    *stagingDir
	name   string // of the target
	base   string
	temp   string // its name while staged
	spec   FileSpec
	file   *os.File
	hash   hash.Hash
	sum    blob.Digest
	size   int64
	mtime  int64 // when it was closed
	closed bool
	old    bool         // there was a file before
	onto   bool         // something is mounted on it
	read   *blob.Digest // what the old one must have: it is edited; nil: whatever it has
	state  stagedState
	room   *int64 // bytes that may still be written; nil: as many as the disk takes
}

type stagedState int

const (
	notPlaced stagedState = iota // under its staged name
	swapped                      // in place, the old file under the staged name
	inPlace
)

func newStaged(name string, spec FileSpec) *Staged {
	return &Staged{name: name, base: path.Base(name), spec: spec, hash: sha256.New()}
}

// stageFile creates the file of s in dir, under its staged name.
func stageFile(root hostpath.Root, dir *stagingDir, s *Staged) error {
	there, err := s.enter(dir)
	if err != nil {
		return err
	}
	fd, err := hostpath.OpenAt(dir.fd, s.temp, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	s.file = os.NewFile(uintptr(fd), s.name)
	if err := s.label(root, there); err != nil {
		s.discard()
		return err
	}
	return nil
}

// enter gives s its directory and a staged name there, which nobody has yet, and says what is at
// its target.
func (s *Staged) enter(dir *stagingDir) (FileInfo, error) {
	there, err := hostpath.LstatAt(dir.fd, s.base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return there, err
	case there.Type == Directory, there.Type == Other:
		return there, &hostpath.InTheWayError{Path: s.name, Is: there.Type, Want: Regular}
	default:
		s.old, s.onto = true, there.Mounted
	}
	s.dir, s.temp = dir, stagedName()
	return there, nil
}

// label gives the file the label of its target.
func (s *Staged) label(root hostpath.Root, there FileInfo) error {
	fd := int(s.file.Fd())
	err := root.Label(fd, path.Join(s.dir.real, s.base), selinux.File)
	if err == nil && s.old && there.Type == Regular {
		err = xattr.CopyLabels(s.dir.fd, s.base, fd)
	}
	return err
}

// Write appends content. The file is mode 0600 and root's until it is closed.
func (s *Staged) Write(p []byte) (int, error) {
	if s.room != nil {
		if *s.room -= int64(len(p)); *s.room < 0 {
			return 0, fmt.Errorf("write %s: %w", s.name, errHalfOfRoom)
		}
	}
	n, err := s.file.Write(p)
	s.hash.Write(p[:n])
	s.size += int64(n)
	return n, hostpath.Explain("write", s.name, unwrapPath(err))
}

// largeFile is from where the disk starts to write before the sync.
const largeFile = 256 << 10

// Close gives the file what its spec says, and takes the ACL that the directory's default gave it.
// Only a closed file can be committed.
func (s *Staged) Close() error {
	if s.closed {
		return nil
	}
	fd := int(s.file.Fd())
	err := xattr.DropACL(fd)
	if err == nil {
		err = setMeta(fd, s.spec)
	}
	if err != nil && !(s.onto && errors.Is(err, unix.ENOTSUP)) { // only what is mounted there has attributes
		return hostpath.Explain("set owner, mode and time of", s.name, err)
	}
	if s.size >= largeFile {
		startWriting(fd)
	}
	s.sum, s.closed = digestOf(s.hash), true
	if info, err := hostpath.Fstat(fd); err == nil {
		s.mtime = info.Mtime
	}
	return nil
}

// Sum is the digest of what was written, known when the file is closed.
func (s *Staged) Sum() blob.Digest { return s.sum }

// Size is how many bytes were written.
func (s *Staged) Size() int64 { return s.size }

// rename puts the file in place. With keep, a file that is replaced stays
// under the staged name, for [Staged.undo].
func (s *Staged) rename(keep bool) error {
	if keep && s.old {
		err := unix.Renameat2(s.dir.fd, s.temp, s.dir.fd, s.base, unix.RENAME_EXCHANGE)
		switch err {
		case nil:
			s.state = swapped
			return s.refuseDirectory()
		// The file system cannot swap; or not these two, of two projects; or the old one went away.
		case unix.EINVAL, unix.ENOSYS, unix.EXDEV, unix.ENOENT:
		default:
			return err
		}
	}
	if err := unix.Renameat(s.dir.fd, s.temp, s.dir.fd, s.base); err != nil {
		return err
	}
	s.state = inPlace
	return nil
}

// refuseDirectory swaps back what was no file any more when it was swapped: a rename would have
// refused it.
func (s *Staged) refuseDirectory() error {
	if old, err := hostpath.LstatAt(s.dir.fd, s.temp); err != nil || old.Type != Directory {
		return err
	}
	return errors.Join(unix.EISDIR, s.undo())
}

// undo takes a rename back: the old file is in place again, or none where there was none.
func (s *Staged) undo() error {
	switch {
	case s.state == swapped:
		// ours first: XFS asks it alone whether it has the project of the directory
		if err := unix.Renameat2(s.dir.fd, s.base, s.dir.fd, s.temp, unix.RENAME_EXCHANGE); err != nil {
			return err
		}
		s.state = notPlaced
	case s.state == inPlace && !s.old:
		if err := unix.Unlinkat(s.dir.fd, s.base, 0); err != nil {
			return err
		}
	case s.state == inPlace:
		return errors.New("its file system cannot swap files, so the new one stays")
	}
	return nil
}

// overwrite writes the content into the file that is mounted at the target.
func (s *Staged) overwrite() error {
	fd, err := unix.Openat(s.dir.fd, s.base, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	target := os.NewFile(uintptr(fd), s.name)
	defer target.Close()
	if err := single(fd, s.name); err != nil {
		return err
	}
	if err := reserve(fd, s.size); err != nil {
		return err
	}
	if _, err := io.Copy(target, io.NewSectionReader(s.file, 0, s.size)); err != nil {
		return fmt.Errorf("copy the content: %w", unwrapPath(err))
	}
	if err := target.Truncate(s.size); err != nil {
		return unwrapPath(err)
	}
	if err := setMeta(fd, s.spec); err != nil {
		return err
	}
	return fsync(fd)
}

// reserve sees to it that so many bytes can be written in an open file: on a disk that is full it
// would become half of the new and nothing of the old. What does not know how is not asked.
func reserve(fd int, size int64) error {
	was, err := hostpath.Fstat(fd)
	if err != nil || size == 0 {
		return err
	}
	err = hostpath.Again(func() error { return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, size) })
	if err == unix.ENOSPC || err == unix.EDQUOT {
		return errors.Join(err, unix.Ftruncate(fd, was.Size)) // with what was reserved until then
	}
	return nil
}

// dropOld removes the file that was replaced.
func (s *Staged) dropOld() {
	if s.state == swapped && unix.Unlinkat(s.dir.fd, s.temp, 0) == nil {
		s.state = inPlace
	}
}

// record remembers the digest of a file that is in place. The rename changed its ctime. Who writes
// to it from now on gives it a later mtime, if the clock has ticked since we did.
func (s *Staged) record(f *Reader) {
	if f.opt.Stamps == nil || s.state == notPlaced {
		return
	}
	info, err := hostpath.Stat(int(s.file.Fd()), "", unix.AT_EMPTY_PATH)
	switch {
	case err != nil || info.Mtime != s.mtime || info.Size != s.size:
	case ticked(s.mtime):
		f.opt.Stamps.Record(s.name, info, s.sum)
	default:
		f.racy.add(s.name, info)
	}
}

// discard closes the file, and removes what is under its staged name.
func (s *Staged) discard() {
	if s.state != inPlace && s.temp != "" {
		_ = unix.Unlinkat(s.dir.fd, s.temp, 0)
	}
	s.file.Close()
}
