package cleanup

import (
	"context"
	"errors"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
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
			info, err := v.Files.Lstat(name)
			if isMissing(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if tree != (info.Type == hostfs.Directory) {
				continue // another thing of that name
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

// findUnits lists the units that systemd knows; their files are among Files.
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
				if unit.File == "enabled" { // a mount that nobody wrote a unit for has none
					err = errors.Join(err, h.Units.DisableUnit(ctx, name))
				}
				return err
			}})
	}
	return out, nil
}
