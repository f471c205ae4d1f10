package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/problem"
)

// UnitState is whether a unit is enabled, masked and running. Below an image's root it only makes
// links. A oneshot that ended without an error counts as running, and so does a unit that does not
// start because of a condition in its file.
type UnitState struct {
	Meta
	Name    string
	Enabled *bool // nil: unchanged
	Active  *bool
	Masked  *bool
	// NoBlock queues systemd's job and does not wait for it: for units that are ordered after the
	// agent.
	NoBlock bool
	// Within is how long the start may take before it counts as failed. Meanwhile the unit is not
	// right, and Plan waits for it. 0: a unit that is asked to start is right.
	Within time.Duration `json:",omitempty"`
}

var (
	_ Task      = UnitState{}
	_ needer    = UnitState{}
	_ Remover   = UnitState{}
	_ Restorer  = UnitState{}
	_ Presenter = UnitState{}
)

// Owns implements [Task].
func (t UnitState) Owns() []graph.Key { return []graph.Key{graph.MakeKey(KindUnit, t.Name)} }

// needs implements [needer].
func (t UnitState) needs() []graph.Key {
	return append([]graph.Key{DaemonReload, UnitFileKey(t.Name)}, t.Requires...)
}

// Plan implements [Task].
func (t UnitState) Plan(ctx context.Context, v host.View) (*Change, error) {
	have, err := t.look(ctx, v)
	switch {
	case errors.Is(err, host.ErrNoLiveState) && v.Facts.Init == "systemd": // an image with systemd
		return t.planLinks(ctx, v)
	case errors.Is(err, host.ErrNoLiveState):
		return &Change{Items: []Item{{Key: t.Owns()[0], Op: Update, Fields: t.differs(systemd.UnitState{})}},
			NotApplicable: "no systemd here"}, nil
	case err != nil:
		return nil, err
	}
	fields := t.differs(have)
	reload := have.NeedReload && len(v.Upcoming.Asked(string(DaemonReload))) == 0
	if reload {
		fields = append(fields, Field{Name: "loaded", Before: "as the file was", After: "as the file is"})
	}
	if len(fields) == 0 {
		return nil, t.starting(have)
	}
	if have.Load == "not-found" && !willExist(v, UnitFileKey(t.Name)) && t.wantsIt() {
		return nil, problem.Missing("plan unit %s: systemd has no such unit: install the package that brings it, or remove "+
			"the unit from the configuration", t.Name)
	}
	if have.Load == "masked" && t.wantsIt() && (t.Masked == nil || *t.Masked) {
		return nil, fmt.Errorf("plan unit %s: somebody masked it, and systemd starts and enables no masked unit: "+
			"`systemctl unmask %[1]s`, or remove the unit "+
			"from the configuration", t.Name)
	}
	if t.Enabled != nil && *t.Enabled && have.File == "static" {
		return nil,
			fmt.Errorf("plan unit %s: it cannot be enabled, its file has no [Install] section: start it instead, "+
				"or let another unit want it", t.Name)
	}
	after := t.planned(have)
	change := &Change{
		Items:   []Item{{Key: t.Owns()[0], Op: Update, Fields: fields}},
		Reason:  fields[0].Name + " differs",
		Pending: []host.Fact{{Key: string(t.Owns()[0]), Unit: &after}},
	}
	if have.Active == "active" && after.Active == "inactive" {
		change.Disruption = RestartsUnit
	}
	change.Disruption = disturbs(t.Name, change.Disruption)
	return change, nil
}

// wantsIt reports whether the unit must exist for this state.
func (t UnitState) wantsIt() bool {
	return t.Enabled != nil && *t.Enabled || t.Active != nil && *t.Active
}

// differs returns the fields that are not as wanted.
func (t UnitState) differs(have systemd.UnitState) []Field {
	var out []Field
	if t.Masked != nil && *t.Masked != (have.File == "masked") {
		out = append(out, Field{"masked", word(!*t.Masked, "masked", "no"), word(*t.Masked, "masked", "no")})
	}
	if t.Enabled != nil && *t.Enabled != t.isEnabled(have) {
		out = append(out, Field{"enabled", have.File, word(*t.Enabled, "enabled", "disabled")})
	}
	if t.Active != nil && *t.Active != t.isActive(have) {
		out = append(out, Field{"active", have.Active, word(*t.Active, "active", "inactive")})
	}
	return out
}

// isEnabled reports whether a unit starts at each boot, or may. "enabled-runtime" does not stay
// over a boot. A generated unit is enabled by its generator, which systemctl cannot disable: it
// counts as what is wanted.
func (t UnitState) isEnabled(have systemd.UnitState) bool {
	return have.File == "enabled" || have.File == "indirect" ||
		have.File == "generated" && t.Enabled != nil && *t.Enabled
}

// look returns the unit's state in systemd. For an indirect unit, the file state only says that its
// Also= names others. So look reports it as enabled if those are enabled, and as disabled if there
// is no link that `systemctl disable` could remove.
func (t UnitState) look(ctx context.Context, v host.View) (systemd.UnitState, error) {
	have, err := v.Units.Unit(ctx, t.Name)
	if err != nil || have.File != "indirect" || t.Enabled == nil {
		return have, err
	}
	if !*t.Enabled {
		links, err := linksTo(v, have.ID)
		if len(links) == 0 {
			have.File = "disabled"
		}
		return have, err
	}
	file, err := facts.ReadUnitFile(v.Files, have.ID)
	for _, names := range file.Values("Install", "Also") {
		for name := range strings.FieldsSeq(names) {
			other, err := v.Units.Unit(ctx, name)
			if err != nil {
				return have, err
			}
			if other.File == "disabled" {
				have.File = "disabled"
			}
		}
	}
	return have, IgnoreMissing(err)
}

// isActive reports whether a unit runs, has nothing to do, or, with NoBlock, is about to run. With
// NoBlock, a unit that is about to stop and should stop does not count as running.
func (t UnitState) isActive(have systemd.UnitState) bool {
	wanted := t.Active != nil && *t.Active
	switch have.Active {
	case "active", "reloading", "refreshing":
		return wanted || !t.NoBlock || have.JobType != "stop"
	case "activating":
		return t.NoBlock
	}
	return wanted && (have.Ran || t.NoBlock && have.Job)
}

// starting returns a wait while a unit that should run is starting: only time shows whether it
// does.
func (t UnitState) starting(have systemd.UnitState) error {
	if t.Within == 0 || t.Active == nil || !*t.Active {
		return nil
	}
	switch {
	case have.Job && have.JobState == "waiting" && have.Active != "active":
		return graph.Wait(t.Name + ", whose start is queued behind other units")
	case have.Active == "activating", have.Job && have.JobType != "reload" && have.Active != "active":
		return graph.Wait(t.Name + " to start")
	}
	return nil
}

// planned returns the state that the unit will have.
func (t UnitState) planned(have systemd.UnitState) systemd.UnitState {
	have.Name, have.NeedReload = t.Name, false
	if t.Masked != nil {
		have.File = word(*t.Masked, "masked", "disabled")
	}
	if t.Enabled != nil {
		have.File = word(*t.Enabled, "enabled", "disabled")
	}
	if t.Active != nil {
		have.Active = word(*t.Active, "active", "inactive")
	}
	if have.Load == "not-found" && t.wantsIt() {
		have.Load = "loaded"
	}
	return have
}

func word(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// Apply implements [Task]. It unmasks and enables a unit before it starts it, and stops it before
// it disables and masks it.
func (t UnitState) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	have, err := t.look(ctx, h.Live.View())
	if errors.Is(err, host.ErrNoLiveState) {
		return t.applyLinks(ctx, h)
	}
	if err != nil {
		return err
	}
	if have.NeedReload {
		if err := h.Units.DaemonReload(ctx); err != nil {
			return err
		}
	}
	wrong := map[string]bool{}
	for _, f := range t.differs(have) {
		wrong[f.Name] = true
	}
	steps := []struct {
		due bool
		do  func() error
	}{
		{wrong["active"] && !*t.Active, func() error { return h.Units.StopUnit(ctx, t.Name, !t.NoBlock) }},
		{wrong["masked"] && !*t.Masked, func() error { return h.Units.MaskUnit(ctx, t.Name, false) }},
		{wrong["enabled"] && *t.Enabled, func() error { return h.Units.EnableUnit(ctx, have.ID) }},
		// Before the reload systemd does not know that a unit wants this one. It would forget a
		// oneshot that has ended, and that it ran.
		{wrong["enabled"] && *t.Enabled && wrong["active"] && *t.Active,
			func() error { return h.Units.DaemonReload(ctx) }},
		{wrong["enabled"] && !*t.Enabled, func() error { return h.Units.DisableUnit(ctx, have.ID) }},
		{wrong["masked"] && *t.Masked, func() error { return h.Units.MaskUnit(ctx, t.Name, true) }},
		{wrong["active"] && *t.Active, func() error { return h.Units.StartUnit(ctx, t.Name, !t.NoBlock) }},
	}
	for _, step := range steps {
		if !step.due {
			continue
		}
		if err := step.do(); err != nil {
			return err
		}
	}
	return nil
}

// Live implements [StateReader]. It returns only the state that the task sets.
func (t UnitState) Live(ctx context.Context, v host.View) (string, error) {
	have, err := t.look(ctx, v)
	if err != nil || have.Load == "not-found" && !Runs(have) {
		return "", err
	}
	// its file is missing, and nothing shows another state than the wanted one
	if have.File == "" && Runs(have) && t.Enabled != nil {
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
		live += " " + word(t.isEnabled(have), "enabled", "disabled")
	}
	if t.Active != nil {
		live += " " + word(t.isActive(have), "active", "inactive")
	}
	return live, nil
}

// Present implements [Presenter]: a unit that is off exists nevertheless.
func (t UnitState) Present(ctx context.Context, v host.View) (bool, error) {
	have, err := v.Units.Unit(ctx, t.Name)
	return err == nil && have.Load != "not-found", err
}

// gone reports whether the unit is as Remove leaves it. A oneshot that ran is inactive here,
// although the plan counts it as active.
func (t UnitState) gone(have systemd.UnitState) bool {
	return t.Masked == nil && (t.Enabled == nil || !t.isEnabled(have)) &&
		(have.Active == "inactive" || have.Active == "failed")
}

// Remove implements [Remover]. It stops and disables a unit of the agent, or removes the agent's
// mask. The unit's file is another key and is removed after it. Remove waits for the stop even with
// NoBlock: systemd stops units before it starts others, whatever their order (systemd.unit(5),
// Before=), and a unit that is still stopping would look like one that somebody changed.
func (t UnitState) Remove(ctx context.Context, h *host.Host) error {
	if t.Masked != nil && *t.Masked {
		return h.Units.MaskUnit(ctx, t.Name, false)
	}
	have, err := h.Live.Units.Unit(ctx, t.Name)
	if err != nil {
		return err
	}
	if err := h.Units.StopUnit(ctx, t.Name, true); err != nil {
		return err
	}
	// a killed run removed its file, and systemd was not reloaded
	return IgnoreMissing(h.Units.DisableUnit(ctx, have.ID))
}
