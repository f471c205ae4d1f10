package hostfs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// maxEdits is how often EditFile reads a file again that another program writes meanwhile.
const maxEdits = 8

// ErrWrittenMeanwhile means that another program kept writing a file during an edit. The content of
// that program is in the file. The edit may be retried.
var ErrWrittenMeanwhile = errors.New("another program writes to it at the same time")

// EditFile replaces the content of an existing file by what edit returns. It keeps owner, mode and
// attributes, except capabilities, which were given to the old content. Only one edit of a Host
// runs at a time, so two tasks can change one file. If edit returns the same content, nothing is
// written.
//
// A write by another program meanwhile is not lost. The replaced file must have the content that
// was read, and no process may have it open for writing. If not, EditFile puts that file back and
// calls edit again with its content. If the file system cannot exchange files, EditFile checks this
// only before the write.
func (w *Writer) EditFile(ctx context.Context, name string, edit func(old []byte) ([]byte, error)) error {
	return w.EditFileAt(ctx, name, func(old []byte) ([]byte, *int64, error) {
		content, err := edit(old)
		return content, nil, err
	})
}

// EditFileAt is [Writer.EditFile] where edit also returns the mtime, in nanoseconds since the
// epoch; nil: now.
func (w *Writer) EditFileAt(
	ctx context.Context, name string, edit func(old []byte) (content []byte, mtime *int64, err error),
) (err error) {
	w.files.edits.Lock()
	defer w.files.edits.Unlock()
	for range maxEdits {
		if err = editOnce(ctx, w, name, edit); !errors.Is(err, ErrWrittenMeanwhile) {
			return err
		}
	}
	return err
}

func editOnce(
	ctx context.Context, w *Writer, name string, edit func(old []byte) (content []byte, mtime *int64, err error),
) error {
	name, err := hostpath.Clean("edit", name)
	if err != nil {
		return err
	}
	at, err := behind(w.files.Paths, name)
	if err != nil {
		return hostpath.Explain("edit", name, err)
	}
	name = at
	info, err := w.files.Strict().Lstat(name)
	if err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	old, err := w.files.Strict().ReadFile(name)
	if err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	content, mtime, err := edit(old)
	if err != nil {
		return fmt.Errorf("edit %s: %w", name, err)
	}
	if bytes.Equal(content, old) {
		return nil
	}
	attrs, err := w.files.Strict().Attributes(name)
	if err != nil {
		return fmt.Errorf("edit: %w", err)
	}
	delete(attrs, "security.capability")
	b := w.Batch()
	defer b.Discard()
	spec := FileSpec{Mode: info.Mode, UID: info.UID, GID: info.GID, Attrs: attrs, Mtime: mtime}
	if err := b.Put(name, content, spec); err != nil {
		return err
	}
	b.all[0].read = new(blob.Digest(sha256.Sum256(old)))
	return b.Commit(ctx)
}

// replace puts an edited file in place of the file that was read. If another program changed that
// file meanwhile, its version stays.
func (s *Staged) replace() error {
	if err := s.unread(s.base); err != nil {
		return err
	}
	if err := s.rename(true); err != nil || s.state != swapped {
		return err
	}
	err := s.unread(s.temp)
	if err == nil {
		return nil
	}
	if back := s.undo(); back != nil {
		return errors.Join(err, back)
	}
	// If another program has replaced the new file meanwhile, its file is the newest and stays.
	if mine, errMine := hostpath.Stat(int(s.file.Fd()), "", unix.AT_EMPTY_PATH); errMine == nil {
		if out, errOut := hostpath.LstatAt(s.dir.fd, s.temp); errOut == nil && out.Inode != mine.Inode {
			return errors.Join(err, unix.Renameat2(s.dir.fd, s.temp, s.dir.fd, s.base, unix.RENAME_EXCHANGE))
		}
	}
	return err
}

// unread returns an error if the file at base is not the one that was read, or if a process may
// write to it.
func (s *Staged) unread(base string) error {
	fd, err := hostpath.OpenAt(s.dir.fd, base, toRead, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWrittenMeanwhile, err)
	}
	f := os.NewFile(uintptr(fd), s.name)
	defer f.Close()
	if err := single(fd, s.name); err != nil {
		return fmt.Errorf("%w: %w", ErrWrittenMeanwhile, err)
	}
	// The kernel gives a read lease only if no process has the file open for writing (fcntl(2)).
	// The lease ends when the file is closed.
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK); err == unix.EAGAIN {
		return ErrWrittenMeanwhile
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil || digestOf(sum) != *s.read {
		return ErrWrittenMeanwhile
	}
	return nil
}
