package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// Effect is something done at most once a run, after all that ask for it and
// before all that need it; skipped when nobody asked.
type Effect struct {
	Meta
	Action EffectAction
	Unit   string // of a restart or reload
	// Wait for the job's end, and fail with it. Never for a unit that is
	// ordered after the agent: it would wait for us.
	Wait bool
}

// EffectAction is what an effect does.
type EffectAction string

// The effects.
const (
	ActionDaemonReload EffectAction = "daemon-reload"
	ActionRestart      EffectAction = "restart" // only what runs is restarted
	ActionReload       EffectAction = "reload"  // likewise; what cannot reload is restarted
)

var (
	_ Task   = Effect{}
	_ needer = Effect{}
)

// DaemonReload is the effect that makes systemd read its unit files again.
const DaemonReload = graph.Key("effect:daemon-reload")

// Restart is the key of the effect that restarts a unit.
func Restart(unit string) graph.Key { return graph.MakeKey(KindEffect, "restart "+unit) }

// Reload is the key of the effect that makes a unit read its configuration again.
func Reload(unit string) graph.Key { return graph.MakeKey(KindEffect, "reload "+unit) }

// Owns implements [Task].
func (t Effect) Owns() []graph.Key {
	switch t.Action {
	case ActionRestart:
		return []graph.Key{Restart(t.Unit)}
	case ActionReload:
		return []graph.Key{Reload(t.Unit)}
	case ActionDaemonReload:
	}
	return []graph.Key{DaemonReload}
}

// needs implements [needer]: systemd reads the files before it runs from them.
func (t Effect) needs() []graph.Key {
	if t.Action == ActionDaemonReload {
		return t.Requires
	}
	return append([]graph.Key{DaemonReload}, t.Requires...)
}

// Plan implements [Task].
func (t Effect) Plan(ctx context.Context, v host.View) (*Change, error) {
	key := t.Owns()[0]
	by := v.Upcoming.Asked(string(key))
	if len(by) == 0 {
		return nil, nil
	}
	change := &Change{
		Items:  []Item{{Key: key, Op: Run}},
		Reason: "asked for by " + strings.Join(by, ", "),
	}
	unit := cmp.Or(t.Unit, "-.mount") // of every systemd
	have, err := v.Units.Unit(ctx, unit)
	switch {
	case errors.Is(err, host.ErrNoLiveState):
		change.NotApplicable = "no systemd here"
	case err != nil:
		return nil, err
	case t.Unit != "" && have.Load == "not-found" && !v.Upcoming.WillExist(string(UnitFileKey(t.Unit))):
		return nil, nil // it went since it was asked for: nothing runs that could be restarted
	}
	if t.Action == ActionRestart && Runs(have) {
		change.Disruption = RestartsUnit
	}
	change.Disruption = disturbs(t.Unit, change.Disruption)
	return change, nil
}

// Apply implements [Task].
func (t Effect) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	switch t.Action {
	case ActionDaemonReload:
		return h.Units.DaemonReload(ctx)
	case ActionRestart:
		return h.Units.RestartUnit(ctx, t.Unit, t.Wait)
	case ActionReload:
		return h.Units.ReloadUnit(ctx, t.Unit, t.Wait)
	}
	return fmt.Errorf("effect %q: no such action", t.Action)
}

// Mark is what systemd shows of the last time that the effect was done. Another mark afterwards
// says that it was done since, by whomever: a restart makes a new invocation of the unit, a reload
// changes its state and back. "" says nothing.
//
// That a reload was done is a little less sure than the others: any change of the unit's state
// counts as one.
func (t Effect) Mark(ctx context.Context, v host.View) (string, error) {
	if t.Action == ActionDaemonReload {
		at, err := v.Units.UnitsLoadedUS(ctx)
		if err != nil || at == 0 {
			return "", err
		}
		return strconv.FormatUint(at, 10), nil
	}
	have, err := v.Units.Unit(ctx, t.Unit)
	if err != nil || t.Action == ActionRestart {
		return have.Invocation, err
	}
	return fmt.Sprintf("%s %d", have.Invocation, have.ChangedUS), nil
}

// DoneSince says that the effect was done since mark was taken, or that systemd is about to: a job
// of that kind is queued. A reload that failed was not done: the unit has the settings that it had.
func (t Effect) DoneSince(ctx context.Context, v host.View, mark string) (bool, error) {
	now, err := t.Mark(ctx, v)
	if err != nil || now != mark || t.Action == ActionDaemonReload {
		failed := err == nil && t.Action == ActionReload && v.Units.FailedReload(ctx, t.Unit) != ""
		return now != mark && mark != "" && !failed, err
	}
	have, err := v.Units.Unit(ctx, t.Unit)
	switch have.JobType {
	case "restart", "start":
		return true, err
	case "reload":
		return t.Action == ActionReload, err
	}
	return false, err
}

// IsState says that a key is state, and not an action.
func IsState(key graph.Key) bool { return key.Kind() != KindEffect }

// EffectOf is the effect that a key names, for sets of tasks that are made from the ledger.
func EffectOf(key graph.Key) Effect {
	action, unit, _ := strings.Cut(key.Name(), " ")
	return Effect{Meta: Meta{From: "ledger"}, Action: EffectAction(action), Unit: unit}
}

// Runs says that a unit runs or is about to.
func Runs(u systemd.UnitState) bool {
	switch u.Active {
	case "active", "activating", "reloading", "refreshing":
		return true
	}
	return u.Job && u.JobType != "stop" // "": the job ended while it was looked at
}
