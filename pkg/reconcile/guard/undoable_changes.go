package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"syscall"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/reconcile/revert"
	"github.com/netwright/netwright/pkg/tasks"
)

// PlannedWork has the tasks of a run, and those of their changes that will be made.
type PlannedWork changes.Work

// NeedsCheckpoint reports whether any of the changes may be made only under a checkpoint.
func (w PlannedWork) NeedsCheckpoint() bool {
	for _, c := range w.Changes.ByKey {
		if NeedsCheckpoint(c) {
			return true
		}
	}
	return false
}

// Undoable adds the keys that change and that an undo restores.
func (w PlannedWork) Undoable(to *checkpoint.Change) {
	for _, key := range slices.Sorted(maps.Keys(w.Changes.ByKey)) {
		t, _ := w.Graph.Find(key)
		if !Undone(t, w.Changes.ByKey[key]) {
			continue
		}
		for _, it := range w.Changes.ByKey[key].Items {
			to.Keys = append(to.Keys, it.Key)
			to.Tasks[it.Key] = t
		}
	}
}

// Netdevs returns the links that systemd-networkd will create from files of the change. It does not
// remove such a link when the file is removed, so the undo must do that.
func (w PlannedWork) Netdevs(ctx context.Context, v host.View) (keys []graph.Key, err error) {
	for key := range w.Changes.ByKey {
		t, _ := w.Graph.Find(key)
		f, ok := t.(interface{ Netdev() (string, error) })
		if !ok {
			continue
		}
		name, err := f.Netdev()
		if err != nil {
			return nil, err
		}
		if _, err := v.Net.Link(ctx, name); name != "" && errors.Is(err, host.ErrNotExist) {
			keys = append(keys, tasks.LinkKey(name))
		}
	}
	return keys, nil
}

// Below returns the paths in the directories that a switch removes whole. An undo restores those
// files too.
func (w PlannedWork) Below(v host.View) (keys []graph.Key, err error) {
	for first, c := range w.Changes.ByKey {
		if first.Kind() != tasks.KindCleanup {
			continue
		}
		for _, it := range c.Items {
			if it.Key.Kind() != tasks.KindFile {
				continue
			}
			if keys, err = walk(v, v.Files.Strict(), it.Key.Name(), keys); err != nil {
				return nil, fmt.Errorf("find what the switch removes: %w", err)
			}
		}
	}
	return keys, nil
}

// walk adds what is below a directory; each directory comes before its contents. It leaves out
// mounts, which are no files to restore: a cgroup2 mount of Calico or Cilium has files that cannot
// be read. A directory that has become something else when it is listed has nothing below it.
func walk(v host.View, at hostfs.Files, dir string, keys []graph.Key) ([]graph.Key, error) {
	info, err := at.Lstat(dir)
	if errors.Is(err, host.ErrNotExist) || err == nil && info.Type != hostfs.Directory {
		return keys, nil
	}
	if err != nil {
		return nil, err
	}
	switch _, err := v.Kernel.Mounted(dir); {
	case err == nil:
		return keys, nil
	case !errors.Is(err, host.ErrNotExist) && !errors.Is(err, host.ErrNoLiveState):
		return nil, err
	}
	names, err := at.ReadDir(dir)
	if link := (*hostpath.LinkError)(nil); errors.As(err, &link) || errors.Is(err, host.ErrNotExist) ||
		errors.Is(err, syscall.ENOTDIR) {
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

// AtBoot returns the changed keys that take effect at the next boot, with what the ledger says
// about them.
func AtBoot(led *ledger.Ledger, works ...PlannedWork) (list []firstboot.Await, err error) {
	for _, of := range works {
		for _, first := range slices.Sorted(maps.Keys(of.Changes.ByKey)) {
			t, _ := of.Graph.Find(first)
			c := of.Changes.ByKey[first]
			if !Undone(t, c) || c.Proof != tasks.ProofNone {
				continue
			}
			for _, it := range c.Items {
				if list, err = addAtBoot(list, led, t, it.Key); err != nil {
					return nil, err
				}
			}
		}
	}
	return list, nil
}

// addAtBoot adds a key if any part of it takes effect at the next boot.
func addAtBoot(
	list []firstboot.Await, led *ledger.Ledger, t tasks.Task, key graph.Key,
) ([]firstboot.Await, error) {
	files, units := tasks.ReadAtBoot(t, key)
	if len(files)+len(units) == 0 {
		return list, nil
	}
	raw, err := json.Marshal(revert.Before(led, key))
	if err != nil {
		return nil, fmt.Errorf("encode what the ledger says of %s: %w", key, err)
	}
	return append(list, firstboot.Await{Key: key, Files: files, Units: units, Before: raw}), nil
}

// Remember captures what the ledger says about all keys that a pass records before its first
// change. It leaves out what an undo leaves in place, which are members of archives, so that the
// ledger keeps their entries.
func Remember(of *ownership.Transaction, made *changes.Set, by, network string) (json.RawMessage, error) {
	var keys []graph.Key
	for _, t := range of.Set.Order {
		change := made.Get(t.Owns()[0])
		if change != nil && Undone(t, change) && tasks.IsState(t.Owns()[0]) {
			keys = append(append(keys, t.Owns()...), of.Parents(change)...)
		}
	}
	return revert.Remember(of.Led, by, network, len(of.Set.Order), keys)
}
