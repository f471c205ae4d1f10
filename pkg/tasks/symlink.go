package tasks

import (
	"context"
	"fmt"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
)

// SymbolicLink is a symbolic link with its target as written. A link with another target is
// replaced in one step. Any other file at the path is an error.
type SymbolicLink struct {
	Meta
	Path   string
	Target string
}

var _ Task = SymbolicLink{}

// Owns implements [Task].
func (t SymbolicLink) Owns() []graph.Key { return []graph.Key{FileKey(t.Path)} }

// Plan implements [Task].
func (t SymbolicLink) Plan(_ context.Context, v host.View) (*Change, error) {
	info, there, err := lstat(v, t.Path)
	if err != nil {
		return nil, fmt.Errorf("plan symlink %s: %w", t.Path, err)
	}
	fact := fileFact(t.Path, &hostfs.FileInfo{Type: hostfs.Symlink, Mode: 0o777, Size: int64(len(t.Target)), Links: 1})
	switch {
	case !there:
		items, err := missingParents(v, t.Path)
		if err != nil {
			return nil, fmt.Errorf("plan symlink %s: %w", t.Path, err)
		}
		return t.change(append(items, Item{Key: FileKey(t.Path), Op: Create,
			Fields: []Field{{Name: "target", After: t.Target}}}), "absent", fact), nil
	case info.Type != hostfs.Symlink:
		return nil, &hostpath.InTheWayError{Path: t.Path, Is: info.Type, Want: hostfs.Symlink}
	}
	target, err := v.Files.Readlink(t.Path)
	if err != nil {
		return nil, fmt.Errorf("plan symlink %s: %w", t.Path, err)
	}
	if target == t.Target {
		return nil, nil
	}
	item := Item{Key: FileKey(t.Path), Op: Update, Fields: []Field{{Name: "target", Before: target, After: t.Target}}}
	return t.change([]Item{item}, "target differs", fact), nil
}

// Apply implements [Task].
func (t SymbolicLink) Apply(_ context.Context, h *host.Host, _ *Change) error {
	return h.Files.Symlink(t.Path, t.Target)
}
