package host

import (
	"context"
	"fmt"
	"io/fs"
	"os"
)

// FileWriter writes files durably, for who changes files and looks at nothing else of the machine: who publishes a store, or makes a key. What it writes
// belongs to the caller.
type FileWriter struct{ h *Host }

// OpenFileWriter opens the files below a root for writing. The caller closes it.
func OpenFileWriter(opt Options) (*FileWriter, error) {
	if opt.Root == "" {
		opt.Root = "/"
	}
	opt.Stamps = nil
	f, err := openFiles(opt)
	if err != nil {
		return nil, err
	}
	return &FileWriter{&Host{&Live{opt: opt, files: f}}}, nil
}

// ReadFile is that of [Files].
func (w *FileWriter) ReadFile(name string) ([]byte, error) { return w.h.files.ReadFile(name) }

// WriteFile puts a file in place, whole and durable; missing directories are made with mode 0755.
func (w *FileWriter) WriteFile(ctx context.Context, name string, content []byte, mode fs.FileMode) error {
	return w.h.WriteFile(ctx, name, content, FileSpec{Mode: mode, UID: os.Geteuid(), GID: os.Getegid()})
}

// CreateFile is WriteFile for a file that must not be there.
func (w *FileWriter) CreateFile(ctx context.Context, name string, content []byte, mode fs.FileMode) error {
	if _, err := w.h.files.Lstat(name); err == nil {
		return fmt.Errorf("write %s: %w: it is not replaced; name another file", name, fs.ErrExist)
	}
	return w.WriteFile(ctx, name, content, mode)
}

// Close releases the root.
func (w *FileWriter) Close() error { return w.h.files.close() }
