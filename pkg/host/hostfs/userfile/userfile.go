// Package userfile writes files for who changes files and looks at nothing else of the machine: who
// publishes a store, or makes a key.
package userfile

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Writer writes files durably. What it writes belongs to the caller.
type Writer struct {
	reader *hostfs.Reader
	files  *hostfs.Writer
}

// Open opens the files below a root for writing. The caller closes it.
func Open(opt hostfs.Options) (*Writer, error) {
	opt.Stamps = nil
	f, err := hostfs.Open(opt)
	if err != nil {
		return nil, err
	}
	return &Writer{f, hostfs.NewWriter(f)}, nil
}

// WriteFile puts a file in place, whole and durable; missing directories are made with mode 0755.
func (w *Writer) WriteFile(ctx context.Context, name string, content []byte, mode fs.FileMode) error {
	return w.WriteFileFor(ctx, name, content, mode, os.Getegid())
}

// CreateFile is WriteFile for a file that must not be there.
func (w *Writer) CreateFile(ctx context.Context, name string, content []byte, mode fs.FileMode) error {
	if _, err := w.reader.Lstat(name); err == nil {
		return fmt.Errorf("write %s: %w: it is not replaced; name another file", name, fs.ErrExist)
	}
	return w.WriteFile(ctx, name, content, mode)
}

// RemoveFile removes a file; absence is success.
func (w *Writer) RemoveFile(name string) error { return w.files.Remove(name) }

// WriteFileFor is WriteFile for a file whose group is another one than the caller's.
func (w *Writer) WriteFileFor(ctx context.Context, name string, content []byte, mode fs.FileMode, gid int) error {
	return w.files.WriteFile(ctx, name, content, hostfs.FileSpec{Mode: mode, UID: os.Geteuid(), GID: gid})
}

// MakeDirFor makes a directory that a group may pass through, and not list: 0710; with a gid below
// 0 it is for its owner alone: 0700. What is in it is kept by modes of its own.
func (w *Writer) MakeDirFor(name string, gid int) error {
	spec := hostfs.FileSpec{Mode: 0o710, UID: os.Geteuid(), GID: gid}
	if gid < 0 {
		spec.Mode, spec.GID = 0o700, os.Getegid()
	}
	return w.files.Mkdir(name, spec.Mode, spec.UID, spec.GID)
}

// Group is the number of a group in the root's own /etc/group.
func (w *Writer) Group(name string) (gid int, err error) {
	_, gid, err = w.reader.Owner("0:" + name)
	return gid, err
}

// Close releases the root.
func (w *Writer) Close() error { return w.reader.Close() }
