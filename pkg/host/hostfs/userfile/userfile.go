// Package userfile writes files for commands that touch nothing else of the host, such as
// publishing a store or making a key.
package userfile

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Writer writes files durably. They belong to the user of this process.
type Writer struct {
	reader *hostfs.Reader
	files  *hostfs.Writer
}

// Open opens the files below a root for writing. The caller must close it.
func Open(opt hostfs.Options) (*Writer, error) {
	opt.Stamps = nil
	f, err := hostfs.Open(opt)
	if err != nil {
		return nil, err
	}
	return &Writer{f, hostfs.NewWriter(f)}, nil
}

// WriteFile writes a file whole and durably. It creates missing directories with mode 0755.
func (w *Writer) WriteFile(ctx context.Context, name string, content []byte, mode fs.FileMode) error {
	return w.WriteFileFor(ctx, name, content, mode, os.Getegid())
}

// CreateFile is WriteFile for a file that must not exist yet.
func (w *Writer) CreateFile(ctx context.Context, name string, content []byte, mode fs.FileMode) error {
	if _, err := w.reader.Lstat(name); err == nil {
		return fmt.Errorf("write %s: %w: it is not replaced; name another file", name, fs.ErrExist)
	}
	return w.WriteFile(ctx, name, content, mode)
}

// RemoveFile removes a file; a missing file is success.
func (w *Writer) RemoveFile(name string) error { return w.files.Remove(name) }

// WriteFileFor is WriteFile with another group than that of this process.
func (w *Writer) WriteFileFor(ctx context.Context, name string, content []byte, mode fs.FileMode, gid int) error {
	return w.files.WriteFile(ctx, name, content, hostfs.FileSpec{Mode: mode, UID: os.Geteuid(), GID: gid})
}

// MakeDirFor creates a directory with mode 0710: the group may enter it but not list it. With a gid
// below 0 the mode is 0700, for its owner only. The files in it have modes of their own.
func (w *Writer) MakeDirFor(name string, gid int) error {
	spec := hostfs.FileSpec{Mode: 0o710, UID: os.Geteuid(), GID: gid}
	if gid < 0 {
		spec.Mode, spec.GID = 0o700, os.Getegid()
	}
	return w.files.Mkdir(name, spec.Mode, spec.UID, spec.GID)
}

// Group returns the gid of a group in the root's own /etc/group.
func (w *Writer) Group(name string) (gid int, err error) {
	_, gid, err = w.reader.Owner("0:" + name)
	return gid, err
}

// Close closes the root.
func (w *Writer) Close() error { return w.reader.Close() }
