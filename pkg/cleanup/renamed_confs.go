package cleanup

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/tasks"
)

// findRenamed lists the CNI confs of other owners that the network renamed to disable them. It
// gives a conf its name back only if that does not change which conf the runtime uses: the runtime
// takes the first of its directory by name, so another conf must sort before it that exists or is
// wanted and is not removed. Otherwise the conf keeps its present name, because it may be of a
// network that is long gone.
func findRenamed(_ context.Context, v host.View, l Residue, s Scope) ([]item, error) {
	var out []item
	for _, m := range l.Renamed {
		names, err := Expand(v, m.Path)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			own, is := strings.CutSuffix(name, m.Suffix)
			info, err := v.Files.Lstat(name)
			if hostpath.IsMissing(err) || !is || err == nil && info.Type != hostfs.Regular {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("look at %s: %w", name, err)
			}
			_, err = v.Files.Lstat(own)
			first, err2 := wouldBeFirst(v, l, s, own)
			switch {
			case err2 != nil:
				return nil, err2
			case first || err == nil || s.retains(tasks.FileKey(own)):
				continue
			case !hostpath.IsMissing(err):
				return nil, fmt.Errorf("look at %s: %w", own, err)
			}
			out = append(out, item{Key: tasks.FileKey(name), Detail: "back to its own name",
				remove: func(ctx context.Context, h *host.Host) error { return giveBack(ctx, h, name, own) }},
				item{Key: tasks.FileKey(own), Detail: "given back"})
		}
	}
	return out, nil
}

// wouldBeFirst reports whether a conf would be the first in its directory, apart from confs that
// are removed with the network.
func wouldBeFirst(v host.View, l Residue, s Scope, own string) (bool, error) {
	dir := path.Dir(own)
	names, err := v.Files.ReadDir(dir)
	if err != nil {
		return false, fmt.Errorf("look for confs in %s: %w", dir, err)
	}
	for _, key := range s.Retain {
		if key.Kind() == tasks.KindFile && path.Dir(key.Name()) == dir {
			names = append(names, path.Base(key.Name()))
		}
	}
	return !slices.ContainsFunc(names, func(name string) bool {
		return name < path.Base(own) && slices.Contains([]string{".conf", ".conflist", ".json"}, path.Ext(name)) &&
			!matches(path.Join(dir, name), l.Files...)
	}), nil
}

func giveBack(ctx context.Context, h *host.Host, name, own string) error {
	view := h.Live.View()
	info, err := view.Files.Lstat(name)
	if err != nil {
		return fmt.Errorf("give back %s: %w", own, err)
	}
	content, err := view.Files.ReadFile(name)
	if err != nil {
		return fmt.Errorf("give back %s: %w", own, err)
	}
	spec := hostfs.FileSpec{Mode: info.Mode, UID: info.UID, GID: info.GID, Mtime: &info.Mtime}
	if err := h.Files.WriteFile(ctx, own, content, spec); err != nil {
		return err
	}
	return h.Files.Remove(name)
}
