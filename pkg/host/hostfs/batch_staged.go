package hostfs

import (
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/selinux"
	"github.com/netwright/netwright/pkg/host/xattr"
)

// Staged is a file that is written in the directory of its target and is not in place yet. It is an
// [io.WriteCloser].
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
	mtime  int64 // mtime when it was closed
	closed bool
	old    bool         // a file existed before
	read   *blob.Digest // digest that the old file must have, for an edit; nil: any
	state  stagedState
	room   *int64 // bytes that may still be written; nil: no limit
}

type stagedState int

const (
	notPlaced stagedState = iota // still under its staged name
	swapped                      // in place; the old file has the staged name
	inPlace
)

// enter sets the directory and an unused staged name of s, and returns the metadata of the target.
func (s *Staged) enter(dir *stagingDir) (FileInfo, error) {
	there, err := hostpath.LstatAt(dir.fd, s.base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return there, err
	case there.Type == Directory, there.Type == Other:
		return there, &hostpath.InTheWayError{Path: s.name, Is: there.Type, Want: Regular}
	case there.Free() != nil:
		return there, there.Free()
	default:
		s.old = true
	}
	s.dir, s.temp = dir, stagedName()
	return there, nil
}

// label gives the file the SELinux label of its target.
func (s *Staged) label(root hostpath.Root, there FileInfo) error {
	fd := int(s.file.Fd())
	err := root.Label(fd, path.Join(s.dir.real, s.base), selinux.File)
	if err == nil && s.old && there.Type == Regular {
		err = xattr.CopyLabels(s.dir.fd, s.base, fd)
	}
	return err
}

// Write appends content. Until Close, the file has mode 0600 and belongs to root.
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

// largeFile is the size from which Close starts to write the file to the disk, before the sync.
const largeFile = 256 << 10

// Close sets what the spec says, and removes the ACL inherited from the directory's default ACL.
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
	if err != nil {
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

// Sum returns the digest of the content. It is known after Close.
func (s *Staged) Sum() blob.Digest { return s.sum }

// Size returns how many bytes were written.
func (s *Staged) Size() int64 { return s.size }

// rename puts the file in place. If keep, the old file gets the staged name, for [Staged.undo].
func (s *Staged) rename(keep bool) error {
	if keep && s.old {
		err := unix.Renameat2(s.dir.fd, s.temp, s.dir.fd, s.base, unix.RENAME_EXCHANGE)
		switch err {
		case nil:
			s.state = swapped
			return s.refuseDirectory()
		// The file system cannot exchange files, or not between two XFS projects; or the old file
		// is gone.
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

// refuseDirectory undoes the exchange if the target has become a directory meanwhile: a plain
// rename would have refused it.
func (s *Staged) refuseDirectory() error {
	if old, err := hostpath.LstatAt(s.dir.fd, s.temp); err != nil || old.Type != Directory {
		return err
	}
	return errors.Join(unix.EISDIR, s.undo())
}

// undo undoes a rename: the old file is in place again, or none if none existed.
func (s *Staged) undo() error {
	switch {
	case s.state == swapped:
		// The new file comes first: XFS checks only its project against that of the directory.
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

// dropOld removes the old file.
func (s *Staged) dropOld() {
	if s.state == swapped && unix.Unlinkat(s.dir.fd, s.temp, 0) == nil {
		s.state = inPlace
	}
}

// record stores the digest of a file that is in place. The rename has changed its ctime. A later
// write changes its mtime, if the clock has ticked since this write.
func (s *Staged) record(f *Reader) {
	if f.opt.Stamps == nil {
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

// discard closes the file and removes the file with the staged name.
func (s *Staged) discard() {
	if s.state != inPlace && s.temp != "" {
		_ = unix.Unlinkat(s.dir.fd, s.temp, 0)
	}
	s.file.Close()
}
