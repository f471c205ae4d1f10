package cleanup

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

func findFiles(_ context.Context, v host.View, l Residue, _ Scope) ([]item, error) {
	found, err := findPaths(v, l.Files, "file")
	if err != nil {
		return nil, err
	}
	var out []item
	for _, f := range found {
		others, err := l.othersCache(v, f.Key.Name())
		if err != nil {
			return nil, err
		}
		if !others {
			out = append(out, f)
		}
	}
	return out, nil
}

func findPins(_ context.Context, v host.View, l Residue, _ Scope) ([]item, error) {
	return findPaths(v, l.Pins, "eBPF pin")
}

// findPaths lists what the patterns name: a file, a symlink, or with a slash
// at its end a directory with all that is in it. No symlink is followed, and
// what is mounted below a directory is an error, not removed.
func findPaths(v host.View, patterns []string, what string) ([]item, error) {
	var out []item
	for _, pattern := range patterns {
		tree := strings.HasSuffix(pattern, "/")
		names, err := Expand(v, strings.TrimSuffix(pattern, "/"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			info, err := v.Lstat(name)
			if absent(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if tree != (info.Type == host.Directory) {
				continue // another thing of that name
			}
			found := item{Key: tasks.FileKey(name), What: what}
			if tree {
				found.What = "directory"
			}
			found.remove = func(ctx context.Context, h *host.Host) error { return h.RemoveTree(ctx, name) }
			out = append(out, found)
		}
	}
	return out, nil
}

// absent says that nothing can be at a path, for a file where its parent would be too.
func absent(err error) bool {
	return errors.Is(err, host.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Expand lists the paths that a pattern (path.Match) names, part by part. A part that is no pattern is taken as it is: it need not be there.
func Expand(v host.View, pattern string) ([]string, error) {
	found := []string{"/"}
	for _, part := range strings.Split(strings.Trim(pattern, "/"), "/") {
		var next []string
		for _, dir := range found {
			if !strings.ContainsAny(part, `*?[\`) {
				next = append(next, path.Join(dir, part))
				continue
			}
			names, err := v.ReadDir(dir)
			if absent(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("look for %s: %w", pattern, err)
			}
			for _, name := range names {
				if match(part, name) {
					next = append(next, path.Join(dir, name))
				}
			}
		}
		found = next
	}
	return found, nil
}

// findUnits lists the units that systemd knows; their files are among Files.
func findUnits(ctx context.Context, v host.View, l Residue, _ Scope) ([]item, error) {
	var out []item
	for _, name := range l.Units {
		unit, err := v.Unit(ctx, name)
		if nowhere(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if unit.Load == "not-found" || unit.Active != "active" && unit.File != "enabled" {
			continue
		}
		out = append(out, item{Key: graph.MakeKey(tasks.KindUnit, name), What: unit.Active + ", " + unit.File,
			remove: func(ctx context.Context, h *host.Host) error {
				err := h.StopUnit(ctx, name, true)
				if unit.File == "enabled" { // a mount that nobody wrote a unit for has none
					err = errors.Join(err, h.DisableUnit(ctx, name))
				}
				return err
			}})
	}
	return out, nil
}
