package probation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/starts"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/service"
	"github.com/netwright/netwright/pkg/tasks"
)

// await waits until it is known whether a unit is up, or until the time limit. A brief pass looks
// only once.
func (ts *Trials) await(
	ctx context.Context, h *host.Host, unit, before string,
) (starts.Verdict, systemd.UnitState, error) {
	self, err := h.Live.Units.Unit(ctx, service.Unit)
	if err != nil {
		return starts.Starting, self, err
	}
	ready, deadline := true, time.Now().Add(startTimeout)
	if self.Active == "activating" {
		ready, deadline = false, time.Now().Add(earlyTimeout)
	}
	if ts.brief {
		deadline = time.Time{}
	}
	for wait := 25 * time.Millisecond; ; wait = min(2*wait, 400*time.Millisecond) {
		now, err := h.Live.Units.Unit(ctx, unit)
		if err != nil {
			return starts.Starting, now, err
		}
		kind := ""
		if now.Active == "active" {
			kind = h.Live.Units.UnitType(ctx, unit)
		}
		v := starts.JudgeUnit(now, kind, before, systemd.ClockUS(), ready)
		if v != starts.Starting || time.Now().After(deadline) || !host.Sleep(ctx, wait) {
			return v, now, nil
		}
	}
}

// Judge judges all units on trial. If a unit did not come up, Judge restores its former files. It
// returns the tasks whose change was undone, with the reason. It may be killed and called again at
// any point.
func (ts *Trials) Judge(ctx context.Context, h *host.Host, led *ledger.Ledger) (map[graph.Key]error, error) {
	failed := map[graph.Key]error{}
	for i := 0; i < len(ts.list); i++ {
		t := &ts.list[i]
		if t.State == ledger.ProbationSuppressed {
			continue
		}
		over, err := ts.judge(ctx, h, led, t)
		switch {
		case errors.Is(err, host.ErrNoLiveState):
			return failed, nil // an image
		case err != nil:
			return failed, err
		case over:
			ts.list = slices.Delete(ts.list, i, i+1)
			i--
			if err := ledger.SaveTrials(ctx, h.Files, ts.list); err != nil {
				return failed, err
			}
		case t.State != ledger.ProbationOpen:
			for _, f := range t.Files {
				for _, key := range f.Tasks {
					failed[key] = graph.Permanent(&UnitDownError{Probation: *t})
				}
			}
		default:
			ts.Notes = append(ts.Notes, report.Note{Level: "info", Origin: t.Unit,
				Text: fmt.Sprintf("it is not known yet whether %s runs with its new settings: the next pass "+
					"looks again", t.Unit)})
		}
	}
	return failed, nil
}

// judge continues one trial from its recorded state. over means that nothing is left to do for it.
func (ts *Trials) judge(ctx context.Context, h *host.Host, led *ledger.Ledger, t *ledger.Probation) (over bool,
	err error) {
	if t.State == ledger.ProbationOpen {
		v, now, err := ts.await(ctx, h, t.Unit, t.Invocation)
		lost := err == nil && v == starts.IsUp && lostCRI(ctx, h, t)
		if err != nil || v == starts.IsUp && !lost || v == starts.NoVerdict {
			return err == nil, err
		}
		if v != starts.IsDown && !lost {
			return false, nil
		}
		t.State, t.Why, t.Invocation = ledger.ProbationUndoing, "it ended", now.Invocation
		switch {
		case lost:
			t.Why = "it serves no CRI"
		case now.Result != "":
			t.Why = now.Result
		case now.Load != "loaded":
			t.Why = now.Load
		}
		if ts.log != nil {
			ts.log.Error("a unit does not start after its settings changed: the agent restores the former settings",
				zap.String("unit", t.Unit), zap.String("result", t.Why))
		}
		if err := ledger.SaveTrials(ctx, h.Files, ts.list); err != nil {
			return false, err
		}
	}
	if t.State == ledger.ProbationUndoing {
		if err := ts.restore(ctx, h, led, t); err != nil {
			return false, fmt.Errorf("%s did not come up (%s), and its former settings are not fully "+
				"restored; the agent tries again: %w", t.Unit, t.Why, err)
		}
		t.State = ledger.ProbationUndone
		if err := ledger.SaveTrials(ctx, h.Files, ts.list); err != nil {
			return false, err
		}
	}
	v, _, err := ts.await(ctx, h, t.Unit, t.Invocation)
	if err != nil || v == starts.Starting || v == starts.Queued {
		return false, err
	}
	runs := v == starts.IsUp && !lostCRI(ctx, h, t)
	t.State, t.Bad, t.Tries, t.Since = ledger.ProbationSuppressed, runs, t.Tries+1, time.Now().UTC()
	t.Unchanged, t.Before = unitFingerprint(h.Live.Files, *t), nil
	for i := range t.Files {
		t.Files[i].Content, t.Files[i].Was = nil, tasks.Baseline{}
	}
	if err := ledger.SaveTrials(ctx, h.Files, ts.list); err != nil {
		return false, err
	}
	made := t.Made
	made.Time, made.Bad, made.Tries, made.Why = t.Since, t.Bad, t.Tries, t.Unit+" did not come up: "+t.Why
	return false, ledger.NoteUndone(ctx, h.Files, made)
}

// lostCRI reports whether a runtime that served CRI before the change runs without it. containerd
// starts without its plugin of CRI if that refuses its settings.
func lostCRI(ctx context.Context, h *host.Host, t *ledger.Probation) bool {
	if !t.Served {
		return false
	}
	_, err := h.Live.Pods(ctx)
	return errors.Is(err, cri.ErrUnimplemented)
}

// restore restores the files, makes all units that read them read them again, and starts the unit.
// After a kill it is called again and repeats none of these steps.
func (ts *Trials) restore(ctx context.Context, h *host.Host, led *ledger.Ledger, t *ledger.Probation) error {
	asked := []graph.Key{tasks.DaemonReload}
	for _, f := range slices.Backward(t.Files) {
		was := f.Was
		was.Content = f.Content
		if err := restorerOf(f.Path).Restore(ctx, h, was); err != nil {
			return err
		}
		for _, effect := range f.Effects {
			for _, key := range f.Tasks {
				led.Effects.Cancel(string(effect), string(key))
			}
			if !slices.Contains(asked, effect) {
				asked = append(asked, effect)
			}
		}
	}
	own := tasks.Restart(t.Unit)
	for _, key := range append(slices.DeleteFunc(asked,
		func(k graph.Key) bool { return tasks.EffectOf(k).Unit == t.Unit }), own) {
		e := tasks.EffectOf(key)
		if done, err := ts.try(ctx, h, t, e); done || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		apply := func() error { return e.Apply(ctx, h, nil) }
		if key == own { // the unit being down is no reason not to start it
			apply = func() error { return h.Units.RestartFailed(ctx, t.Unit) }
		}
		if err := apply(); err != nil && (key == own || !errors.Is(err, host.ErrNotExist)) {
			return err
		}
	}
	return led.Effects.Save(ctx, h.Files)
}

// try records that an effect of the undo is about to run. done means that a killed run has done it
// already.
func (ts *Trials) try(ctx context.Context, h *host.Host, t *ledger.Probation, e tasks.Effect) (done bool, err error) {
	key := e.Owns()[0]
	if mark, tried := t.Before[key]; tried {
		return e.DoneSince(ctx, h.Live.View(), mark)
	}
	mark, err := e.Mark(ctx, h.Live.View())
	if err != nil {
		return false, err
	}
	if t.Before == nil {
		t.Before = map[graph.Key]string{}
	}
	t.Before[key] = mark
	return false, ledger.SaveTrials(ctx, h.Files, ts.list)
}

// These are the back-off times of a change if the unit did not come up after the undo either. The
// time doubles at each try.
const (
	retryPause    = 30 * time.Second
	retryPauseMax = time.Hour
)

// Suppressed returns the tasks that are held back, by their first key: their change brought a unit
// down, and neither the task nor the unit has changed since.
func (ts *Trials) Suppressed(
	v host.View, g *tasks.Graph, set *desired.Records, now time.Time,
) map[graph.Key]error {
	out := map[graph.Key]error{}
	if len(ts.list) == 0 {
		return out
	}
	all := askers(g)
	for _, t := range ts.list {
		if t.State == ledger.ProbationOpen || t.Want != set.Name(all[t.Unit]) {
			continue
		}
		if t.State == ledger.ProbationSuppressed {
			pause := Backoff(t.Tries)
			since := now.Sub(t.Since)
			if unitFingerprint(v.Files, t) != t.Unchanged || !t.Bad && (since < 0 || since >= pause) {
				continue
			}
		}
		for _, f := range t.Files {
			for _, key := range f.Tasks {
				out[key] = graph.Permanent(&UnitDownError{Probation: t})
			}
		}
	}
	return out
}

// unitFingerprint identifies the present state of the unit, including the restored files.
func unitFingerprint(f hostfs.Files, t ledger.Probation) string {
	var reads []string
	for _, file := range t.Files {
		reads = append(reads, file.Path)
	}
	return facts.UnitFingerprint(f, t.Unit, reads...)
}

// UnitDownError reports a change that is held back or was undone because its unit did not come up
// with it.
type UnitDownError struct{ ledger.Probation }

// RefusedBy tells reports who refuses the change.
func (e *UnitDownError) RefusedBy() report.Refusal { return report.RefusedByUnit }

func (e *UnitDownError) Error() string {
	text := fmt.Sprintf("%s did not come up with it (%s), see `journalctl -u %s`; it was taken back", e.Unit, e.Why,
		e.Unit)
	switch {
	case e.State != ledger.ProbationSuppressed:
		return text + ", and the unit is being started with its former settings"
	case e.Bad:
		return text +
			", and the unit runs again; the agent makes the change again when the documents, the unit's " +
			"files or its program change"
	}
	return text +
		", and the unit does not run with its former settings either, so the change may not be the cause; " +
		"the agent makes it again later"
}

// Backoff returns how long a change is held back after a number of tries if the reason is unknown.
func Backoff(tries int) time.Duration {
	return min(retryPause<<min(max(tries-1, 0), 10), retryPauseMax)
}
