package tasks

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
)

// What the kinds that own paths have in common: how they read a path, and how a plan shows its
// owner and mode.

// access is the mode and owner of a path.
type access struct {
	mode  fs.FileMode
	owner string // as configured; "": root:root
	uid   int
	gid   int
}

func resolveAccess(v host.View, mode fs.FileMode, owner string) (access, error) {
	uid, gid, err := v.Files.Owner(owner)
	if err != nil {
		return access{}, err
	}
	if mode&0o7000 != 0 { // 0o1777 means the same as for chmod
		for bit, flag := range specialBits {
			if mode&fs.FileMode(bit) != 0 {
				mode = mode&^fs.FileMode(bit) | flag
			}
		}
	}
	return access{mode: mode, owner: owner, uid: uid, gid: gid}, nil
}

// specialBits maps chmod's setuid, setgid and sticky bits to Go's.
var specialBits = map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky}

func (a access) spec() hostfs.FileSpec { return hostfs.FileSpec{Mode: a.mode, UID: a.uid, GID: a.gid} }

func (a access) is(info hostfs.FileInfo) bool {
	return info.Mode == a.mode && info.UID == a.uid && info.GID == a.gid
}

// info returns the file information that the path will have, for the tasks after this one.
func (a access) info(t hostfs.FileType, size int64) *hostfs.FileInfo {
	return &hostfs.FileInfo{Type: t, Mode: a.mode, UID: a.uid, GID: a.gid, Size: size, Links: 1}
}

// created returns the owner and mode of a path that does not exist yet.
func (a access) created() []Field {
	return []Field{{Name: "mode", After: octal(a.mode)}, {Name: "owner", After: a.ownerName()}}
}

// changed returns the fields for an owner or mode that differs.
func (a access) changed(info hostfs.FileInfo) (fields []Field) {
	if info.Mode != a.mode {
		fields = append(fields, Field{Name: "mode", Before: octal(info.Mode), After: octal(a.mode)})
	}
	if info.UID != a.uid || info.GID != a.gid {
		fields = append(fields, Field{Name: "owner", Before: ownerIDs(info.UID, info.GID), After: a.ownerName()})
	}
	return fields
}

func (a access) ownerName() string {
	ids := ownerIDs(a.uid, a.gid)
	if a.owner == "" || a.owner == ids {
		return ids
	}
	return fmt.Sprintf("%s (%d:%d)", a.owner, a.uid, a.gid)
}

func ownerIDs(uid, gid int) string {
	if uid == 0 && gid == 0 {
		return "root:root"
	}
	return fmt.Sprintf("%d:%d", uid, gid)
}

// octal returns a mode as chmod takes it.
func octal(mode fs.FileMode) string {
	bits := uint32(mode.Perm())
	for bit, flag := range specialBits {
		if mode&flag != 0 {
			bits |= bit
		}
	}
	return fmt.Sprintf("%04o", bits)
}

// lstat is View.Lstat; a missing path is no error.
func lstat(v host.View, name string) (info hostfs.FileInfo, there bool, err error) {
	info, err = v.Files.Lstat(name)
	if errors.Is(err, host.ErrNotExist) {
		return hostfs.FileInfo{}, false, nil
	}
	return info, err == nil, err
}

// missingParents returns the missing directories above a path that no task configures; they are
// made on the way. Each task lists them itself, so that its plan does not depend on the order of
// the tasks.
func missingParents(v host.View, name string) (items []Item, err error) {
	defer func() { slices.Reverse(items) }()
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		info, there, err := behindLinks(v, dir)
		switch {
		case err == nil && there && info.Type == hostfs.Symlink:
			err = fmt.Errorf("directory %s: it is a symlink whose target does not exist: remove the symlink "+
				"or create its target", dir)
		case err == nil && there && info.Type != hostfs.Directory:
			err = &hostpath.InTheWayError{Path: dir, Is: info.Type, Want: hostfs.Directory}
		}
		if err != nil || there {
			return items, err
		}
		items = append(items, Item{Key: FileKey(dir), Op: Create,
			Fields: append([]Field{{Name: "type", After: "directory"}}, access{mode: 0o755}.created()...)})
	}
	return items, nil
}

// change returns a Change with these items; nil: there are none. The last item is the task's own.
func (m Meta) change(items []Item, reason string, facts ...host.Fact) *Change {
	if len(items) == 0 {
		return nil
	}
	return &Change{Items: items, Reason: reason, Effects: m.Effects, Pending: facts}
}

// willExist reports whether a task that comes before makes the key.
func willExist(v host.View, key graph.Key) bool { return v.Upcoming.WillExist(string(key)) }

func fileFact(name string, info *hostfs.FileInfo) host.Fact {
	return host.Fact{Key: string(FileKey(name)), File: info}
}

// differs returns a clause that names the fields that differ: "mode and owner differ".
func differs(fields []Field) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	if len(names) == 1 {
		return names[0] + " differs"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " differ"
}

func fileKeys(dir string, names ...string) []graph.Key {
	keys := make([]graph.Key, 0, len(names))
	for _, n := range names {
		keys = append(keys, FileKey(path.Join(dir, n)))
	}
	return keys
}

// behindLinks returns what a path points to. A dangling symlink is described as itself.
func behindLinks(v host.View, name string) (info hostfs.FileInfo, there bool, err error) {
	link, there, err := lstat(v, name)
	info = link
	for n := 0; info.Type == hostfs.Symlink; n++ {
		if n == maxLinks {
			return info, true, fmt.Errorf("%s leads in a circle: remove the symlink (readlink %s)", name, name)
		}
		target, err := v.Files.Readlink(name)
		if err != nil {
			return info, true, err
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(name), target)
		}
		name = target
		if info, there, err = lstat(v, name); err != nil || !there {
			return link, true, err
		}
	}
	return info, there, err
}
