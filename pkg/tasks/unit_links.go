package tasks

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// UnitLinks are the links below /etc that have the name of some units or point to them. systemctl
// enable, disable and mask change them. No command undoes another one: disable also removes links
// that people made, and both enable and disable act on the units in Also=.
type UnitLinks struct {
	Names []string   `json:"names,omitempty"` // of the unit, its alias, and the units that its Also= reaches
	Links []unitLink `json:"links,omitempty"`
	Dirs  []string   `json:"dirs,omitempty"` // the directories of links that existed
}

type unitLink struct {
	Path   string `json:"path"`
	Target string `json:"target"`
	Mtime  int64  `json:"mtime"`
}

// LinksOfUnit returns the links of a unit and of the units that its Also= reaches.
func LinksOfUnit(v host.View, have systemd.UnitState) (UnitLinks, error) {
	var err error
	u := UnitLinks{Names: []string{have.Name}, Dirs: UnitDirs(v)}
	if have.ID != "" && have.ID != have.Name {
		u.Names = append(u.Names, have.ID)
	}
	for i := 0; i < len(u.Names); i++ {
		for _, name := range alsoOf(v.Files, u.Names[i]) {
			if !slices.Contains(u.Names, name) {
				u.Names = append(u.Names, name)
			}
		}
	}
	u.Links, err = linksTo(v, u.Names...)
	return u, err
}

// LinksOfUnits returns the links of all units, without names.
func LinksOfUnits(v host.View) (UnitLinks, error) {
	links, err := linksTo(v)
	return UnitLinks{Links: links}, err
}

// RestoreMissing makes missing links again, where the unit's file still exists, and then reloads
// systemd. It makes no mask again, and leaves new links.
func (u UnitLinks) RestoreMissing(ctx context.Context, h *host.Host) error {
	made, err := u.remake(h)
	if made {
		err = errors.Join(err, h.Units.DaemonReload(ctx))
	}
	return err
}

// remake makes the missing links.
func (u UnitLinks) remake(h *host.Host) (made bool, err error) {
	for _, link := range u.Links {
		_, there, bad := lstat(h.Live.View(), link.Path)
		file := link.Target
		if !path.IsAbs(file) {
			file = path.Join(path.Dir(link.Path), file)
		}
		if _, gone := h.Live.Files.Lstat(file); there || bad != nil || gone != nil || file == "/dev/null" {
			continue
		}
		err, made = errors.Join(err, link.restore(h)), true
	}
	return made, err
}

// alsoOf returns the units in the Also= of a unit. For a masked unit it reads the file that the
// mask hides.
func alsoOf(f hostfs.Files, name string) (also []string) {
	file, err := facts.ReadUnitFile(f, name)
	for _, dir := range systemd.UnitDirs {
		if raw, bad := f.ReadFile(path.Join(dir, name)); err == nil && file.Masked && bad == nil && len(raw) > 0 {
			file = systemd.ParseUnitFile(raw)
		}
	}
	for _, names := range file.Values("Install", "Also") {
		also = append(also, strings.Fields(names)...)
	}
	return also
}

// Restored reports whether exactly these links exist.
func (u UnitLinks) Restored(v host.View) (bool, error) {
	now, err := linksTo(v, u.Names...)
	return err == nil && slices.Equal(now, u.Links), err
}

// Restore restores exactly these links, and reloads systemd where it changed any. A file that
// somebody put in the place of a link, or a link on the path to it, is an [hostpath.InTheWayError]
// or a [hostpath.LinkError].
func (u UnitLinks) Restore(ctx context.Context, h *host.Host) (changed bool, err error) {
	if changed, err = u.relink(h); changed {
		err = errors.Join(err, h.Units.DaemonReload(ctx))
	}
	return changed, err
}

// relink makes the missing links and removes new ones, with their directories.
func (u UnitLinks) relink(h *host.Host) (changed bool, err error) {
	now, err := linksTo(h.Live.View(), u.Names...)
	if err != nil {
		return false, err
	}
	for _, link := range now {
		if slices.ContainsFunc(u.Links, func(was unitLink) bool { return was.Path == link.Path }) {
			continue
		}
		err := h.Files.Remove(link.Path)
		dir := path.Dir(link.Path)
		if left, bad := h.Live.Files.ReadDir(dir); bad == nil && len(left) == 0 && !slices.Contains(u.Dirs, dir) {
			err = errors.Join(err, h.Files.Remove(dir))
		}
		if err != nil {
			return true, fmt.Errorf("remove a link of unit %s: %w", u.Names[0], err)
		}
		changed = true
	}
	for _, link := range u.Links {
		if slices.Contains(now, link) {
			continue
		}
		if err := link.restore(h); err != nil {
			return true, fmt.Errorf("restore a link of unit %s: %w", u.Names[0], err)
		}
		changed = true
	}
	return changed, nil
}

func (l unitLink) restore(h *host.Host) error {
	if err := h.Files.Symlink(l.Path, l.Target); err != nil {
		return err
	}
	return h.Files.SetMtime(l.Path, l.Mtime)
}

// linksTo returns the symlinks below /etc/systemd/system that have the name of one of the units or
// point to it; without names, all.
func linksTo(v host.View, names ...string) (out []unitLink, err error) {
	for _, dir := range UnitDirs(v) {
		found, err := v.Files.ReadDir(dir)
		if hostpath.IsMissing(err) {
			continue // its last link was removed just now
		}
		if err != nil {
			return nil, fmt.Errorf("look for the links of units %s: %w", strings.Join(names, ", "), err)
		}
		for _, base := range found {
			at := path.Join(dir, base)
			info, there, err := lstat(v, at)
			if err != nil {
				return nil, err
			}
			if !there || info.Type != hostfs.Symlink {
				continue
			}
			target, err := v.Files.Readlink(at)
			if err != nil {
				return nil, err
			}
			if len(names) == 0 || slices.Contains(names, base) || slices.Contains(names, path.Base(target)) {
				out = append(out, unitLink{at, target, info.Mtime})
			}
		}
	}
	return out, nil
}
