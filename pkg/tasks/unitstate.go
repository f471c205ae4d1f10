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
)

// UnitState is whether a unit is enabled, masked and running. Below an image's
// root only links are made. A oneshot that ran and ended well counts as running,
// and so does a unit that a condition of its own keeps from it.
type UnitState struct {
	Meta
	Name    string
	Enabled *bool // nil: leave it
	Active  *bool
	Masked  *bool
	// NoBlock queues the job and does not wait for it: for units ordered after the agent.
	NoBlock bool
	// Within is how long its start may take until it counts as failed; what is coming up is waited
	// for and is not right yet. 0: a start that was asked for is right.
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
	if have.Load == "not-found" && !v.Upcoming.WillExist(string(UnitFileKey(t.Name))) && t.wantsIt() {
		return nil, fmt.Errorf("plan unit %s: systemd has no such unit: install the package that brings it, or remove "+
			"the unit "+
			"from the configuration: %w", t.Name, host.ErrNotExist)
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

// wantsIt says that the unit has to exist for this state.
func (t UnitState) wantsIt() bool {
	return t.Enabled != nil && *t.Enabled || t.Active != nil && *t.Active
}

// differs lists what is not as wanted.
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

// isEnabled says that a unit starts at each boot, or may: "enabled-runtime" does not outlive one. A
// generated unit is enabled by somebody else's hand, which systemd does not stay: it is as wanted.
func (t UnitState) isEnabled(have systemd.UnitState) bool {
	return have.File == "enabled" || have.File == "indirect" ||
		have.File == "generated" && t.Enabled != nil && *t.Enabled
}

// look is the unit as systemd has it. An indirect one says by its file only which others it is
// enabled by: it is enabled if they are, and is not if no link leads to it that `systemctl disable`
// can take away.
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

// isActive says that a unit runs, has nothing to run for or, where nobody waits for it, is about
// to. One that is about to stop, and is to, does not.
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

// starting says that a unit which is to run is coming up: whether it does, only time tells.
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

// planned is the unit as it will be.
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

// Apply implements [Task]. A unit is unmasked and enabled before it starts, and
// stopped before it is disabled and masked.
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
		// Until systemd knows who wants it, it forgets a unit that ran to its end, and that it ran.
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

// Live implements [StateReader]: of a unit, what the task sets.
func (t UnitState) Live(ctx context.Context, v host.View) (string, error) {
	have, err := t.look(ctx, v)
	if err != nil || have.Load == "not-found" && !Runs(have) {
		return "", err
	}
	// its file is away: nothing says that it is not as it was left
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

// Present implements [Presenter]: a unit that is off is somebody's nevertheless.
func (t UnitState) Present(ctx context.Context, v host.View) (bool, error) {
	have, err := v.Units.Unit(ctx, t.Name)
	return err == nil && have.Load != "not-found", err
}

// gone says that the unit is as Remove leaves it. A oneshot that ran is inactive: that it counts as
// active for the plan does not matter here.
func (t UnitState) gone(have systemd.UnitState) bool {
	return t.Masked == nil && (t.Enabled == nil || !t.isEnabled(have)) &&
		(have.Active == "inactive" || have.Active == "failed")
}

// Remove implements [Remover]: a unit that came with us stops and is disabled, a mask of ours goes.
// Its file is another key, and goes after it. It is waited for, also where starting it would not
// be: systemd stops before it starts, whatever the units' order (systemd.unit(5), Before=), and one
// that is still stopping looks like one that somebody changed.
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
	// a killed run took its file, and systemd does not know yet
	if err := h.Units.DisableUnit(ctx, have.ID); !errors.Is(err, host.ErrNotExist) {
		return err
	}
	return nil
}
