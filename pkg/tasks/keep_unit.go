package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"github.com/netwright/netwright/pkg/host"
)

// How units look after their keys.

var (
	_ Remover   = UnitState{}
	_ Restorer  = UnitState{}
	_ Presenter = UnitState{}
)

// Live implements [Keeper]: of a unit, what the task sets.
func (t UnitState) Live(ctx context.Context, v host.View) (string, error) {
	have, err := v.Unit(ctx, t.Name)
	if err != nil || have.Load == "not-found" && !Runs(have) {
		return "", err
	}
	if have.File == "" && Runs(have) && t.Enabled != nil { // its file is away: nothing says that it is not as it was left
		have.File = word(*t.Enabled, "enabled", "disabled")
	}
	if t.gone(have) {
		return "", nil
	}
	live := "unit"
	if t.Masked != nil {
		live += " " + word(have.File == "masked", "masked", "unmasked")
	}
	if t.Enabled != nil {
		live += " " + word(isEnabled(have.File), "enabled", "disabled")
	}
	if t.Active != nil {
		live += " " + word(t.isActive(have), "active", "inactive")
	}
	return live, nil
}

// Present implements [Presenter]: a unit that is off is somebody's nevertheless.
func (t UnitState) Present(ctx context.Context, v host.View) (bool, error) {
	have, err := v.Unit(ctx, t.Name)
	return err == nil && have.Load != "not-found", err
}

// gone says that the unit is as Remove leaves it. A oneshot that ran is inactive: that it counts as active for the plan does not matter here.
func (t UnitState) gone(have host.UnitState) bool {
	return t.Masked == nil && (t.Enabled == nil || !isEnabled(have.File)) && (have.Active == "inactive" || have.Active == "failed")
}

// Remove implements [Remover]: a unit that came with us stops and is disabled, a
// mask of ours goes. Its file is another key, and goes after it. It is waited for, also where starting it would not be: systemd stops before
// it starts, whatever the units' order (systemd.unit(5), Before=), and one that is still stopping looks like one that somebody changed.
func (t UnitState) Remove(ctx context.Context, h *host.Host) error {
	if t.Masked != nil && *t.Masked {
		return h.MaskUnit(ctx, t.Name, false)
	}
	if err := h.StopUnit(ctx, t.Name, true); err != nil {
		return err
	}
	if err := h.DisableUnit(ctx, t.Name); !errors.Is(err, host.ErrNotExist) { // a killed run took its file, and systemd does not know yet
		return err
	}
	return nil
}

// unitBaseline is a unit with the links by which it is enabled, wanted, masked or named.
type unitBaseline struct {
	host.UnitState
	Links []unitLink `json:"links,omitempty"`
}

type unitLink struct {
	Path   string `json:"path"`
	Target string `json:"target"`
	Mtime  int64  `json:"mtime"`
}

// Baseline implements [Restorer].
func (t UnitState) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	have, err := v.Unit(ctx, t.Name)
	if err != nil {
		return Baseline{}, err
	}
	links, err := linksTo(v, t.Name)
	if err != nil {
		return Baseline{}, err
	}
	b, err := Baseline{}, error(nil)
	if b.Live, err = t.Live(ctx, v); err != nil {
		return b, err
	}
	b.Data, err = json.Marshal(unitBaseline{have, links})
	return b, err
}

// linksTo finds the symlinks below /etc/systemd/system that are named like a unit or lead to it.
func linksTo(v host.View, name string) (out []unitLink, err error) {
	for _, dir := range UnitDirs(v) {
		names, err := v.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("look for the links of unit %s: %w", name, err)
		}
		for _, base := range names {
			at := path.Join(dir, base)
			info, there, err := lstat(v, at)
			if err != nil {
				return nil, err
			}
			if !there || info.Type != host.Symlink {
				continue
			}
			target, err := v.Readlink(at)
			if err != nil {
				return nil, err
			}
			if base == name || path.Base(target) == name {
				out = append(out, unitLink{at, target, info.Mtime})
			}
		}
	}
	return out, nil
}

// UnitDirs are /etc/systemd/system and the directories in it that hold links to units: what changes when a unit is enabled or disabled.
func UnitDirs(v host.View) []string {
	dirs := []string{unitDir}
	names, err := v.ReadDir(unitDir)
	if err != nil {
		return nil // no systemd was ever here
	}
	for _, name := range names {
		switch path.Ext(name) {
		case ".wants", ".requires", ".upholds":
			dirs = append(dirs, path.Join(unitDir, name))
		}
	}
	return dirs
}

// Restored implements [Restorer].
func (t UnitState) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	if same, err := alive(ctx, v, t, b); err != nil || !same {
		return same, err
	}
	var was unitBaseline
	if err := json.Unmarshal(b.Data, &was); err != nil {
		return false, fmt.Errorf("read how unit %s was: %w", t.Name, err)
	}
	for _, link := range was.Links {
		target, err := v.Readlink(link.Path)
		if err != nil || target != link.Target {
			return false, ignoreAbsent(err)
		}
		if info, err := v.Lstat(link.Path); err != nil || info.Mtime != link.Mtime {
			return false, err
		}
	}
	return true, nil
}

func ignoreAbsent(err error) error {
	if errors.Is(err, host.ErrNotExist) {
		return nil
	}
	return err
}

// Restore implements [Restorer]: enabled, masked and running as before, as far as the task changed it. The links that a unit had come
// back as they were: a person may have made some that its file does not ask for.
func (t UnitState) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	var was unitBaseline
	if err := json.Unmarshal(b.Data, &was); err != nil {
		return fmt.Errorf("restore unit %s: %w", t.Name, err)
	}
	back := UnitState{Meta: t.Meta, Name: t.Name, NoBlock: t.NoBlock}
	set := func(asked *bool, is bool) *bool {
		if asked == nil {
			return nil
		}
		return &is
	}
	back.Masked = set(t.Masked, was.File == "masked")
	back.Enabled = set(t.Enabled, isEnabled(was.File))
	back.Active = set(t.Active, t.isActive(was.UnitState))
	if err := back.Apply(ctx, h, nil); err != nil {
		return err
	}
	for _, link := range was.Links {
		if err := h.Symlink(link.Path, link.Target); err != nil {
			return fmt.Errorf("restore unit %s: %w", t.Name, err)
		}
		if err := h.SetMtime(link.Path, link.Mtime); err != nil {
			return err
		}
	}
	return nil
}
