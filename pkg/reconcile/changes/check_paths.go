package changes

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/tasks"
)

// checkPaths returns why a change cannot be made: one of its paths leads through a symbolic link
// that the agent does not follow, the file system refuses the write or has no room, or the file
// system is not mounted yet. The task then fails or waits before anything at the path is removed.
// Other tasks go on.
func checkPaths(ctx context.Context, v host.View, t tasks.Task, c *tasks.Change) error {
	for _, it := range c.Items {
		file := tasks.FileOf(it.Key)
		if file == "" {
			continue
		}
		if err := v.Files.Way(wayOf(t, it.Key, file)); err != nil {
			return graph.Permanent(err)
		}
		// systemd mounts over what is there.
		if it.Op != tasks.Create && it.Op != tasks.Update || c.NotApplicable != "" || it.Key.Kind() == tasks.KindMount {
			continue
		}
		if dir := pendingMount(ctx, v, file); dir != "" {
			return graph.Wait(fmt.Sprintf("%s to be mounted: `systemctl status %s` says what the mount waits "+
				"for", dir,
				tasks.MountUnit(dir)))
		}
		if err := v.Files.Writable(file, newBytes(c, it)); err != nil {
			return err
		}
	}
	return nil
}

// pendingMount returns the directory, the path itself or one above it, that systemd is about to
// mount. The mount would hide a file that is written now. It returns "" if there is none. A mount
// that failed does not count.
func pendingMount(ctx context.Context, v host.View, name string) string {
	if parent, err := v.Files.Resolve(path.Dir(name)); err == nil { // the parent may be a symbolic link
		name = path.Join(parent, path.Base(name))
	}
	for dir := name; dir != "/"; dir = path.Dir(dir) {
		mount := tasks.MountUnit(dir)
		if !v.UnitFiles.Has(mount) {
			continue
		}
		if state, err := v.Units.Unit(ctx, mount); err == nil && state.Active != "active" && state.Job {
			return dir
		}
	}
	return ""
}

// newBytes returns how many bytes an item writes. It is negative if only the owner or the mode
// changes.
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

// wayOf returns the directory in which a key is changed, or the file itself if that is edited in
// place.
func wayOf(t tasks.Task, key graph.Key, file string) string {
	if d, ok := t.(tasks.Directory); key.Kind() == tasks.KindTOML || ok && d.Path == file {
		return file
	}
	return path.Dir(file)
}

// LinksMet returns a note for each symbolic link on the way to the network's directories that the
// agent does not follow.
func LinksMet(f *host.Facts, followed []string) (notes []string) {
	for _, link := range f.SymbolicLinks {
		if !slices.Contains(followed, link.Path) {
			notes = append(notes, link.Error())
		}
	}
	return notes
}
