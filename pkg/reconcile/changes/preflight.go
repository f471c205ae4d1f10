package changes

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/tasks"
)

// preflight says why a change cannot be made: a path of it leads through a link that is not
// followed, is held by its file system, has no room there, or its file system is still to come.
// That fails, or waits, before anything of the path is taken down, and this one task alone.
func preflight(ctx context.Context, v host.View, t tasks.Task, c *tasks.Change) error {
	for _, it := range c.Items {
		file := tasks.FileOf(it.Key)
		if file == "" {
			continue
		}
		if err := v.Files.Way(wayOf(t, it.Key, file)); err != nil {
			return graph.Permanent(err)
		}
		// systemd covers what is there
		if it.Op != tasks.Create && it.Op != tasks.Update || c.NotApplicable != "" || it.Key.Kind() == tasks.KindMount {
			continue
		}
		if dir := pendingMount(ctx, v, file); dir != "" {
			return graph.Wait(fmt.Sprintf("%s to be mounted: `systemctl status %s` says what that waits for", dir,
				tasks.MountUnit(dir)))
		}
		if err := v.Files.Writable(file, newBytes(c, it)); err != nil {
			return err
		}
	}
	return nil
}

// pendingMount is the directory above a path, or the path, that systemd is about to mount: what is
// put there now is hidden then. "": there is none. What could not be mounted holds nothing up.
func pendingMount(ctx context.Context, v host.View, name string) string {
	if parent, err := v.Files.Resolve(path.Dir(name)); err == nil { // a link may lead there
		name = path.Join(parent, path.Base(name))
	}
	for dir := name; dir != "/"; dir = path.Dir(dir) {
		mount := tasks.MountUnit(dir)
		if !slices.ContainsFunc(mountUnitDirs, func(at string) bool {
			_, err := v.Files.Lstat(path.Join(at, mount))
			return err == nil
		}) {
			continue
		}
		if state, err := v.Units.Unit(ctx, mount); err == nil && state.Active != "active" && state.Job {
			return dir
		}
	}
	return ""
}

// mountUnitDirs are where the units of mounts are, whichever unit wants them: those of people and
// packages, and those of /etc/fstab.
// https://www.freedesktop.org/software/systemd/man/systemd-fstab-generator.html
var mountUnitDirs = append(slices.Clone(facts.UnitDirs), "/run/systemd/generator")

// newBytes is how much an item writes; less than 0: nothing but an owner or a mode.
func newBytes(c *tasks.Change, it tasks.Item) int64 {
	access := func(f tasks.Field) bool { return f.Name == "mode" || f.Name == "owner" }
	if it.Op == tasks.Update && !slices.ContainsFunc(it.Fields, func(f tasks.Field) bool { return !access(f) }) {
		return -1
	}
	for _, fact := range c.Pending {
		if fact.Key == string(it.Key) && fact.File != nil && fact.File.Type == hostfs.Regular {
			return fact.File.Size
		}
	}
	return 0
}

// wayOf is the directory that a change of a key is made in, or the file that is edited.
func wayOf(t tasks.Task, key graph.Key, file string) string {
	if d, ok := t.(tasks.Directory); key.Kind() == tasks.KindTOML || ok && d.Path == file {
		return file
	}
	return path.Dir(file)
}

// LinksMet are notes of the links that a host has on the way to directories of the network, and
// that are not followed.
func LinksMet(f *host.Facts, followed []string) (notes []string) {
	for _, link := range f.SymbolicLinks {
		if !slices.Contains(followed, link.Path) {
			notes = append(notes, link.Error())
		}
	}
	return notes
}
