package tasks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// KindUnit is the kind of the state of a unit; its files are file: keys.
const KindUnit = "unit"

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
	// Within is how long its start may take until it counts as failed; what is coming up is waited for and is not right yet. 0: a start that was asked for
	// is right.
	Within time.Duration `json:",omitempty"`
}

var _ Task = UnitState{}

func (UnitState) row() row { return rowUnitState }

// Owns implements [Task].
func (t UnitState) Owns() []graph.Key { return []graph.Key{graph.MakeKey(KindUnit, t.Name)} }

// Needs implements [Task].
func (t UnitState) Needs() []graph.Key {
	return append([]graph.Key{DaemonReload, UnitFileKey(t.Name)}, t.After...)
}

// Plan implements [Task].
func (t UnitState) Plan(ctx context.Context, v host.View) (*Change, error) {
	have, err := v.Unit(ctx, t.Name)
	switch {
	case errors.Is(err, host.ErrNotHere) && v.Facts().Init == "systemd": // an image with systemd
		return t.planLinks(ctx, v)
	case errors.Is(err, host.ErrNotHere):
		return &Change{Items: []Item{{Key: t.Owns()[0], Op: Update, Fields: t.differs(host.UnitState{})}},
			NotHere: "no systemd here"}, nil
	case err != nil:
		return nil, err
	}
	fields := t.differs(have)
	reload := have.NeedReload && len(v.Asked(string(DaemonReload))) == 0
	if reload {
		fields = append(fields, Field{Name: "loaded", Before: "as the file was", After: "as the file is"})
	}
	if len(fields) == 0 {
		return nil, t.starting(have)
	}
	if have.Load == "not-found" && !v.WillExist(string(UnitFileKey(t.Name))) && t.wantsIt() {
		return nil, fmt.Errorf("plan unit %s: systemd has no such unit: install the package that brings it, or remove the unit "+
			"from the configuration: %w", t.Name, host.ErrNotExist)
	}
	if have.Load == "masked" && t.wantsIt() && (t.Masked == nil || *t.Masked) {
		return nil, fmt.Errorf("plan unit %s: somebody masked it, and systemd starts and enables no masked unit: `systemctl unmask %[1]s`, or remove the unit "+
			"from the configuration", t.Name)
	}
	if t.Enabled != nil && *t.Enabled && have.File == "static" {
		return nil, fmt.Errorf("plan unit %s: it cannot be enabled, its file has no [Install] section: start it instead, "+
			"or let another unit want it", t.Name)
	}
	after := t.then(have)
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
func (t UnitState) differs(have host.UnitState) []Field {
	var out []Field
	if t.Masked != nil && *t.Masked != (have.File == "masked") {
		out = append(out, Field{"masked", word(!*t.Masked, "masked", "no"), word(*t.Masked, "masked", "no")})
	}
	if t.Enabled != nil && *t.Enabled != isEnabled(have.File) {
		out = append(out, Field{"enabled", have.File, word(*t.Enabled, "enabled", "disabled")})
	}
	if t.Active != nil && *t.Active != t.isActive(have) {
		out = append(out, Field{"active", have.Active, word(*t.Active, "active", "inactive")})
	}
	return out
}

// isEnabled: "enabled-runtime" does not outlive a reboot; an alias or a
// generated unit is enabled by somebody else's hand.
func isEnabled(file string) bool {
	return file == "enabled" || file == "alias" || file == "generated" || file == "indirect"
}

// isActive says that a unit runs, has nothing to run for or, where nobody waits for it, is about to. One that is about to stop, and is to, does not.
func (t UnitState) isActive(have host.UnitState) bool {
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
func (t UnitState) starting(have host.UnitState) error {
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

// then is the unit as it will be.
func (t UnitState) then(have host.UnitState) host.UnitState {
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
	have, err := h.Unit(ctx, t.Name)
	if errors.Is(err, host.ErrNotHere) {
		return t.applyLinks(ctx, h)
	}
	if err != nil {
		return err
	}
	if have.NeedReload {
		if err := h.DaemonReload(ctx); err != nil {
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
		{wrong["active"] && !*t.Active, func() error { return h.StopUnit(ctx, t.Name, !t.NoBlock) }},
		{wrong["masked"] && !*t.Masked, func() error { return h.MaskUnit(ctx, t.Name, false) }},
		{wrong["enabled"] && *t.Enabled, func() error { return h.EnableUnit(ctx, t.Name) }},
		// Until systemd knows who wants it, it forgets a unit that ran to its end, and that it ran.
		{wrong["enabled"] && *t.Enabled && wrong["active"] && *t.Active, func() error { return h.DaemonReload(ctx) }},
		{wrong["enabled"] && !*t.Enabled, func() error { return h.DisableUnit(ctx, t.Name) }},
		{wrong["masked"] && *t.Masked, func() error { return h.MaskUnit(ctx, t.Name, true) }},
		{wrong["active"] && *t.Active, func() error { return h.StartUnit(ctx, t.Name, !t.NoBlock) }},
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
