// Package probation keeps a change of a unit on trial until the unit runs with it. It restores the
// unit's files if the unit does not come up.
package probation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// A change that asks for the restart of a running unit is on trial until the unit runs with the
// change. A runtime that served CRI must serve it again. If the unit does not come up, the files
// that asked for the restart are restored and the unit is started again. The change is then held
// back until the documents or the unit change.
//
// A unit that was down before the change is not on trial, because its state after the change
// proves nothing. A reload is not on trial either, because it leaves the unit running with its old
// settings. Changes of network units are under a checkpoint instead.

// Trials are the trials of a pass.
type Trials struct {
	list   []ledger.Probation
	was    []ledger.Probation // the trials before this pass opened any
	opened bool
	Notes  []report.Note
	log    *zap.Logger
	brief  bool // the pass waits for no unit: the next pass looks at a unit whose state is unknown
}

// These are the time limits of a pass for a unit that is starting. startTimeout is a little more
// than systemd's default. earlyTimeout holds before READY, while kubelet waits for the agent. The
// next pass judges a unit that takes longer. Before READY the pass does not wait for a unit whose
// job waits, because that job may wait for the agent.
const (
	startTimeout = 95 * time.Second
	earlyTimeout = 10 * time.Second
)

// askers returns the tasks that ask for the restart of a unit, by unit.
func askers(g *tasks.Graph) map[string][]tasks.Task {
	out := map[string][]tasks.Task{}
	for _, t := range g.Order() {
		for _, key := range tasks.EffectsOf(t) {
			if e := tasks.EffectOf(key); key.Kind() == tasks.KindEffect && e.Action == tasks.ActionRestart {
				out[e.Unit] = append(out[e.Unit], t)
			}
		}
	}
	return out
}

// Begin puts the units on trial that the pass is about to restart. It records the present state of
// the files that ask for the restart.
func (ts *Trials) Begin(
	ctx context.Context, h *host.Host, planned changes.Work, set *desired.Records, made ledger.Undone,
) error {
	all := askers(planned.Graph)
	was := slices.Clone(ts.list)
	for _, unit := range slices.Sorted(maps.Keys(all)) {
		files, err := filesOfRestart(ctx, h.Live.View(), unit, all[unit], planned.Changes)
		if err != nil {
			return err
		}
		if len(files) == 0 {
			continue
		}
		now, err := h.Live.Units.Unit(ctx, unit)
		switch {
		case errors.Is(err, host.ErrNoLiveState):
			return nil
		case err != nil:
			return err
		case !runs(now):
			continue
		}
		rt := h.Live.Facts.Runtime
		t := ledger.Probation{Unit: unit, State: ledger.ProbationOpen, Want: set.Name(all[unit]),
			Invocation: now.Invocation, Files: files, Since: time.Now().UTC(), Made: made,
			Served: rt.NetworkReady != nil && unit == facts.RuntimeUnit(rt.Name)}
		if i := ts.of(unit); i >= 0 {
			t.Tries = ts.list[i].Tries
			t.Served = t.Served || ts.list[i].Served && ts.list[i].State == ledger.ProbationOpen
			t.Files = before(ts.list[i], files)
			ts.list = slices.Delete(ts.list, i, i+1)
		}
		ts.list, ts.was, ts.opened = append(ts.list, t), was, true
	}
	if !ts.opened {
		return nil
	}
	return ledger.SaveTrials(ctx, h.Files, ts.list)
}

func runs(u systemd.UnitState) bool {
	return u.Load == "loaded" && (u.Active == "active" || u.Active == "reloading")
}

// Remark adds notes about the units that a plan would restart and that are down already: they are
// not on trial.
func (ts *Trials) Remark(ctx context.Context, v host.View, planned changes.Work) {
	for unit, list := range askers(planned.Graph) {
		if !slices.ContainsFunc(list, func(t tasks.Task) bool {
			c := planned.Changes.Get(t.Owns()[0])
			return c != nil && c.NotApplicable == "" && slices.Contains(c.Effects, tasks.Restart(unit))
		}) {
			continue
		}
		if now, err := v.Units.Unit(ctx, unit); err == nil && !runs(now) && now.Load != "not-found" &&
			now.Active != "inactive" {
			ts.Notes = append(ts.Notes, report.Note{Level: "warning", Origin: unit, Text: fmt.Sprintf(
				"%s is %s before the change: if it stays so, the agent does not undo the change for that "+
					"reason; see `journalctl -u %s`", unit, now.Active, unit)})
		}
	}
}

// before returns the files of a trial that has not ended as they were before that trial: the unit
// last ran with these.
func before(t ledger.Probation, files []ledger.ProbationFile) []ledger.ProbationFile {
	if t.State != ledger.ProbationOpen {
		return files
	}
	out := slices.Clone(t.Files)
	for _, f := range files {
		if !slices.ContainsFunc(out, func(o ledger.ProbationFile) bool { return o.Path == f.Path }) {
			out = append(out, f)
		}
	}
	return out
}

// Load reads the trials of earlier passes. A brief pass, which an event asked for, waits for no
// unit: while it waited, it could not repair other changes.
func Load(r ledger.Reader, log *zap.Logger, brief bool) *Trials {
	ts := &Trials{log: log, brief: brief}
	var err error
	if ts.list, err = ledger.Trials(r); err != nil {
		ts.Notes = append(ts.Notes, report.Warning(err.Error()))
	}
	return ts
}

// TakeBack ends the trials that this pass opened, because its change was undone. Trials of earlier
// passes go on, because their files have not changed.
func (ts *Trials) TakeBack(ctx context.Context, h *host.Host) error {
	if !ts.opened {
		return nil
	}
	ts.list, ts.opened = ts.was, false
	return ledger.SaveTrials(ctx, h.Files, ts.list)
}

// Drop ends the trials that the function selects.
func (ts *Trials) Drop(ctx context.Context, h *host.Host, which func(ledger.Probation) bool) error {
	left := slices.DeleteFunc(slices.Clone(ts.list), which)
	if len(left) == len(ts.list) {
		return nil
	}
	ts.list = left
	return ledger.SaveTrials(ctx, h.Files, left)
}

// Fail makes those tasks of a report fail whose change was undone.
func Fail(rep tasks.Report, failed map[graph.Key]error) {
	for i := range rep.Results {
		res := &rep.Results[i]
		if err := failed[res.Key]; err != nil {
			res.State, res.Err = graph.Failed, err
		}
	}
}

func (ts *Trials) of(unit string) int {
	return slices.IndexFunc(ts.list, func(t ledger.Probation) bool { return t.Unit == unit })
}

// filesOfRestart records the files whose change asks for a unit's restart.
func filesOfRestart(
	ctx context.Context, v host.View, unit string, list []tasks.Task, planned *changes.Set,
) ([]ledger.ProbationFile, error) {
	var out []ledger.ProbationFile
	for _, t := range list {
		first := t.Owns()[0]
		c := planned.Get(first)
		if c == nil || c.NotApplicable != "" || !slices.Contains(c.Effects, tasks.Restart(unit)) {
			continue
		}
		for _, key := range t.Owns() {
			name := tasks.FileOf(key)
			if name == "" {
				continue
			}
			if i := slices.IndexFunc(out, func(f ledger.ProbationFile) bool { return f.Path == name }); i >= 0 {
				out[i].Tasks = append(out[i].Tasks, first) // another key of the same file
				continue
			}
			was, err := restorerOf(name).Baseline(ctx, v)
			if err != nil {
				return nil, fmt.Errorf("look at %s before it changes: %w", name, err)
			}
			out = append(out,
				ledger.ProbationFile{Path: name, Was: was, Content: was.Content, Effects: c.Effects,
					Tasks: []graph.Key{first}})
		}
	}
	return out, nil
}

func restorerOf(path string) tasks.Restorer {
	return tasks.StateReaderOf(nil, tasks.FileKey(path)).(tasks.Restorer)
}

// Open reports whether a unit is still on trial, with its new files or with the restored ones.
func Open(opt host.Options) bool {
	files, err := host.OpenFiles(opt)
	if err != nil {
		return false
	}
	defer files.Close() // only read from
	return slices.ContainsFunc(Load(files, nil, true).list,
		func(t ledger.Probation) bool { return t.State != ledger.ProbationSuppressed })
}
