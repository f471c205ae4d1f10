package reconcile

import (
	"errors"
	"fmt"
	"path"
	"syscall"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/tasks"
)

// below are the paths in the directories that a switch takes away whole: an undo brings back what
// was in them, too.
func below(v host.View, r *run) (keys []graph.Key, err error) {
	for first, c := range r.changes.ByKey {
		if first.Kind() != tasks.KindCleanup {
			continue
		}
		for _, it := range c.Items {
			if it.Key.Kind() != tasks.KindFile {
				continue
			}
			if keys, err = walk(v, v.Plain(), it.Key.Name(), keys); err != nil {
				return nil, fmt.Errorf("look at what the switch takes away: %w", err)
			}
		}
	}
	return keys, nil
}

// walk adds what is below a directory, a directory before what is in it. What is mounted there is
// nobody's file: a cgroup2 of Calico's or Cilium's has some that cannot be read. What is no
// directory any more when it is listed has nothing below it.
func walk(v host.View, at hostfs.Files, dir string, keys []graph.Key) ([]graph.Key, error) {
	info, err := at.Lstat(dir)
	if errors.Is(err, host.ErrNotExist) || err == nil && info.Type != hostfs.Directory {
		return keys, nil
	}
	if err != nil {
		return nil, err
	}
	switch _, err := v.Mounted(dir); {
	case err == nil:
		return keys, nil
	case !errors.Is(err, host.ErrNotExist) && !errors.Is(err, host.ErrNotHere):
		return nil, err
	}
	names, err := at.ReadDir(dir)
	if link := (*hostfs.LinkError)(nil); errors.As(err, &link) || errors.Is(err, host.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return keys, nil
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		file := path.Join(dir, name)
		if keys, err = walk(v, at, file, append(keys, tasks.FileKey(file))); err != nil {
			return nil, err
		}
	}
	return keys, nil
}
