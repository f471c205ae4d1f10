package tasks

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
)

// Directory is a directory with its mode and owner. Missing parents are made with mode 0755. The
// contents of the directory do not matter. A symlink to a directory counts as the directory where
// it may be followed: see [hostpath.LinkError].
type Directory struct {
	Meta
	Path  string
	Mode  fs.FileMode
	Owner string // "user:group"; "": root:root
}

var _ Task = Directory{}

// Owns implements [Task].
func (t Directory) Owns() []graph.Key { return []graph.Key{FileKey(t.Path)} }

// Plan implements [Task].
func (t Directory) Plan(_ context.Context, v host.View) (*Change, error) {
	want, err := resolveAccess(v, t.Mode, t.Owner)
	if err != nil {
		return nil, fmt.Errorf("plan directory %s: %w", t.Path, err)
	}
	info, there, err := behindLinks(v, t.Path)
	if err != nil {
		return nil, fmt.Errorf("plan directory %s: %w", t.Path, err)
	}
	fact := fileFact(t.Path, want.info(hostfs.Directory, 0))
	switch {
	case !there:
		items, err := missingParents(v, t.Path)
		if err != nil {
			return nil, fmt.Errorf("plan directory %s: %w", t.Path, err)
		}
		fields := append([]Field{{Name: "type", After: "directory"}}, want.created()...)
		return t.change(append(items, Item{Key: FileKey(t.Path), Op: Create, Fields: fields}), "absent", fact), nil
	case info.Type != hostfs.Directory:
		return nil, &hostpath.InTheWayError{Path: t.Path, Is: info.Type, Want: hostfs.Directory}
	case want.is(info):
		return nil, nil
	}
	if err := v.Files.Way(t.Path); err != nil {
		return nil, fmt.Errorf("plan directory %s: %w", t.Path, err)
	}
	fields := want.changed(info)
	return t.change([]Item{{Key: FileKey(t.Path), Op: Update, Fields: fields}}, differs(fields), fact), nil
}

// Apply implements [Task].
func (t Directory) Apply(_ context.Context, h *host.Host, _ *Change) error {
	want, err := resolveAccess(h.Live.View(), t.Mode, t.Owner)
	if err != nil {
		return fmt.Errorf("make directory %s: %w", t.Path, err)
	}
	return h.Files.Mkdir(t.Path, want.mode, want.uid, want.gid)
}

// maxLinks is the largest number of symlinks that are followed in a row, as in the kernel.
const maxLinks = 40
