package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// unitBaseline is the state of a unit and the links that enable, want, mask or name it. It has no
// names where an earlier release wrote it, or where the task does not change links: other programs
// may have made links since.
type unitBaseline struct {
	systemd.UnitState
	UnitLinks
}

// Baseline implements [Restorer].
func (t UnitState) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	have, err := v.Units.Unit(ctx, t.Name)
	if err != nil {
		return Baseline{}, err
	}
	links, err := LinksOfUnit(v, have)
	if err != nil {
		return Baseline{}, err
	}
	if t.Enabled == nil && t.Masked == nil {
		links.Names, links.Dirs = nil, nil
	}
	b, err := Baseline{}, error(nil)
	if b.Live, err = t.Live(ctx, v); err != nil {
		return b, err
	}
	b.Data, err = json.Marshal(unitBaseline{have, links})
	return b, err
}

// Restored implements [Restorer].
func (t UnitState) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	if same, err := alive(ctx, v, t, b); err != nil || !same {
		return same, err
	}
	var was unitBaseline
	if err := json.Unmarshal(b.Data, &was); err != nil {
		return false, fmt.Errorf("read the baseline of unit %s: %w", t.Name, err)
	}
	if was.Names != nil {
		return was.UnitLinks.Restored(v)
	}
	for _, link := range was.Links {
		target, err := v.Files.Readlink(link.Path)
		if err != nil || target != link.Target {
			return false, IgnoreMissing(err)
		}
		if info, err := v.Files.Lstat(link.Path); err != nil || info.Mtime != link.Mtime {
			return false, err
		}
	}
	return true, nil
}

// Restore implements [Restorer]: enabled, masked and running as before, as far as the task changes
// it. It restores the links exactly as they were, because a person may have made some of them.
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
	back.Active = set(t.Active, t.isActive(was.UnitState))
	if was.Names == nil {
		back.Masked = set(t.Masked, was.File == "masked")
		if was.File != "indirect" { // an indirect unit does not say whether the units in its Also= were enabled
			back.Enabled = set(t.Enabled, was.File == "enabled" || was.File == "alias")
		}
		if err := back.Apply(ctx, h, nil); err != nil {
			return err
		}
		for _, link := range was.Links {
			if err := link.restore(h); err != nil {
				return fmt.Errorf("restore unit %s: %w", t.Name, err)
			}
		}
		return nil
	}
	steps := []func() error{
		func() error { _, err := was.UnitLinks.Restore(ctx, h); return err },
		func() error { return back.Apply(ctx, h, nil) },
	}
	if back.Active != nil && !*back.Active { // a unit must stop with the file with which it started
		slices.Reverse(steps)
	}
	return errors.Join(steps[0](), steps[1]())
}
