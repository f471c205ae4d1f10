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

// unitBaseline is a unit with the links by which it is enabled, wanted, masked or named. Without
// names it is of an earlier release, or the task leaves links alone: others may have come since.
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
		return false, fmt.Errorf("read how unit %s was: %w", t.Name, err)
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

// Restore implements [Restorer]: enabled, masked and running as before, as far as the task changed
// it. The links come back as they were, which a person may have made some of.
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
		if was.File != "indirect" { // of what its Also= names it says nothing
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
	if back.Active != nil && !*back.Active { // it stops by the file that it started by
		slices.Reverse(steps)
	}
	return errors.Join(steps[0](), steps[1]())
}
