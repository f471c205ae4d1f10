package cleanup

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
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
	var patterns []string
	for _, pattern := range l.Pins {
		top, rest, anywhere := strings.Cut(pattern, "/**/")
		if !anywhere {
			patterns = append(patterns, pattern)
			continue
		}
		dirs, err := below(v, top)
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			patterns = append(patterns, path.Join(dir, rest))
		}
	}
	return findPaths(v, patterns, "eBPF pin")
}

// below lists a directory and everything in it at any depth. It follows no symlink.
func below(v host.View, dir string) ([]string, error) {
	names, err := v.Files.ReadDir(dir)
	if hostpath.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look below %s: %w", dir, err)
	}
	out := []string{dir}
	for _, name := range names {
		at := path.Join(dir, name)
		info, err := v.Files.Lstat(at)
		if hostpath.IsMissing(err) || err == nil && info.Type != hostfs.Directory {
			continue
		}
		if err != nil {
			return nil, err
		}
		deeper, err := below(v, at)
		if err != nil {
			return nil, err
		}
		out = append(out, deeper...)
	}
	return out, nil
}

// findPaths lists what the patterns match: files and symlinks or, with a slash at the end of the
// pattern, directories with everything in them. It follows no symlink. A mount below a directory
// is an error, and nothing of that directory is removed.
func findPaths(v host.View, patterns []string, what string) ([]item, error) {
	var out []item
	for _, pattern := range patterns {
		tree := strings.HasSuffix(pattern, "/")
		names, err := Expand(v, strings.TrimSuffix(pattern, "/"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			info, err := v.Files.Lstat(name)
			if hostpath.IsMissing(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if tree != (info.Type == hostfs.Directory) {
				continue // the pattern means another type of file
			}
			found := item{Key: tasks.FileKey(name), Detail: what}
			if tree {
				found.Detail = "directory"
			}
			found.remove = func(ctx context.Context, h *host.Host) error { return h.Files.RemoveTree(ctx, name) }
			out = append(out, found)
		}
	}
	return out, nil
}

// findUnits lists the matching units that systemd knows. Their files are in Files.
func findUnits(ctx context.Context, v host.View, l Residue, _ Scope) ([]item, error) {
	var out []item
	for _, name := range l.Units {
		unit, err := v.Units.Unit(ctx, name)
		if nowhere(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if unit.Load == "not-found" || unit.Active != "active" && unit.File != "enabled" {
			continue
		}
		out = append(out, item{Key: graph.MakeKey(tasks.KindUnit, name), Detail: unit.Active + ", " + unit.File,
			remove: func(ctx context.Context, h *host.Host) error {
				err := h.Units.StopUnit(ctx, name, true)
				if unit.File == "enabled" { // a mount without a unit file has no such state
					err = errors.Join(err, h.Units.DisableUnit(ctx, name))
				}
				return err
			}})
	}
	return out, nil
}
