package directory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// List implements [objectstore.Destination]. It skips names with a leading dot, which a killed
// writer may have left.
func (d *Writer) List(ctx context.Context, prefix string, each func(objectstore.Listed) error) error {
	dir, begins := d.path(path.Dir(prefix)), path.Base(prefix)
	if strings.HasSuffix(prefix, "/") {
		dir, begins = d.path(prefix), ""
	}
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile, or never created
			return nil
		case err != nil:
			return explain("list", name, err)
		case name == dir:
			return nil
		case filepath.Dir(name) == dir && !strings.HasPrefix(e.Name(), begins):
			return skip(e)
		case strings.HasPrefix(e.Name(), "."):
			return skip(e)
		case !e.Type().IsRegular():
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return explain("list", name, err)
		}
		relative, err := filepath.Rel(d.dir, name)
		if err != nil {
			return fmt.Errorf("list %s: %w", name, err)
		}
		return each(objectstore.Listed{Name: filepath.ToSlash(relative), Size: info.Size(), Put: info.ModTime()})
	})
}

func skip(e fs.DirEntry) error {
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// Remove implements [objectstore.Destination].
func (d *Writer) Remove(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w, err := host.OpenFileWriter(host.Options{AnyLinks: true})
	if err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	defer w.Close() // nothing is written
	return w.RemoveFile(d.path(name))
}
