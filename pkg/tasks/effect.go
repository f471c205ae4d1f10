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

// Effect is an action that runs at most once in a run: after all tasks that ask for it, and before
// all tasks that need it. It does not run where no task asked.
type Effect struct {
	Meta
	Action EffectAction
	Unit   string // of a restart or reload
	// Wait waits for the end of systemd's job, and fails with it. It must not be set for a unit
	// that is ordered after the agent, because that unit waits for the agent.
	Wait bool
}

// EffectAction is what an effect does.
type EffectAction string

// The effects.
const (
	ActionDaemonReload EffectAction = "daemon-reload"
	ActionRestart      EffectAction = "restart" // restarts only a running unit
	ActionReload       EffectAction = "reload"  // reloads only a running unit; restarts one that cannot reload
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
	return []graph.Key{graph.MakeKey(KindEffect, strings.TrimSpace(string(t.Action)+" "+t.Unit))}
}

// needs implements [needer]: systemd must read the unit files before it restarts units.
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
	unit := cmp.Or(t.Unit, "-.mount") // every systemd has this unit
	have, err := v.Units.Unit(ctx, unit)
	switch {
	case errors.Is(err, host.ErrNoLiveState):
		change.NotApplicable = "no systemd here"
	case err != nil:
		return nil, err
	case t.Unit != "" && have.Load == "not-found" && !willExist(v, UnitFileKey(t.Unit)):
		return nil, nil // the unit was removed after the request: nothing runs
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

// Mark returns what systemd shows of the last time the effect ran. A different mark later means
// that the effect ran again, whoever started it: a restart makes a new invocation of the unit, and
// a reload changes its state. "" means that nothing is known.
//
// The mark of a reload is less certain: each change of the unit's state counts as a reload.
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

// DoneSince reports whether the effect ran after mark was taken, or has a queued job in systemd. A
// failed reload does not count: the unit still has its old settings.
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

// IsState reports whether a key is state, and not an action.
func IsState(key graph.Key) bool { return key.Kind() != KindEffect }

// EffectOf returns the effect that a key names, for sets of tasks that are made from the ledger.
func EffectOf(key graph.Key) Effect {
	action, unit, _ := strings.Cut(key.Name(), " ")
	return Effect{Meta: Meta{From: "ledger"}, Action: EffectAction(action), Unit: unit}
}

// Runs reports whether a unit runs or is about to run.
func Runs(u systemd.UnitState) bool {
	switch u.Active {
	case "active", "activating", "reloading", "refreshing":
		return true
	}
	return u.Job && u.JobType != "stop" // "": the job ended between two reads
}
