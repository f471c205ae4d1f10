// Package drift decides which changes of a pass are repairs of drift and which come from new
// documents. It also decides how often a key is repaired that another program keeps changing.
package drift

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Judge tells repairs from intended changes, in one pass.
//
// A change is a repair if the ledger says that the key was right for this very task. A task is all
// that is wanted of a key, including what came from facts and from the API. So another MTU or
// another pod CIDR makes another task, and its change is intended. A newer configuration that wants
// the same of a key does not hide that somebody changed the key.
type Judge struct {
	set     *desired.Records
	led     *ledger.Ledger
	view    host.View
	boot    string
	now     time.Time
	node    *config.Node // says what happens to drift
	damping damping
	pods    func(tasks.Task) bool   // reports whether pods depend on the task's key
	means   func(tasks.Task) string // what pods lack without the key
	force   bool                    // a person asks: a key that was given up is tried again at once

	mu      sync.Mutex // guards the ledger, which is decoded only if a pass changes something
	found   *changes.Repairs
	missing map[graph.Key]bool // by a task's first key: the task was skipped, and its key is not as wanted
}

// New returns a judge for the tasks of a set on a host. With afresh, a key that was given up is
// tried again at once, because a person asks.
func New(set *desired.Records, led *ledger.Ledger, v host.View, d *desired.State, afresh bool, now time.Time) *Judge {
	return &Judge{
		set: set, led: led, view: v, boot: led.Boot(), now: now.UTC().Truncate(time.Millisecond), node: d.Node,
		damping: dampingOf(d.Node.Drift.Contested), force: afresh,
		found: changes.NewRepairs(), pods: d.PodsDependOn, means: model.Consequence,
	}
}

// Repairs returns what was decided so far. It returns nil for a nil judge.
func (d *Judge) Repairs() *changes.Repairs {
	if d == nil {
		return nil
	}
	return d.found
}

// Decide decides about a planned change. It returns a deferral if the repair is not made now. Tasks
// are planned at the same time, so it locks the ledger, which is decoded only if a pass changes
// something.
func (d *Judge) Decide(ctx context.Context, t tasks.Task, c *tasks.Change) *changes.Deferral {
	key := t.Owns()[0]
	if d == nil || c.NotApplicable != "" || !tasks.IsState(key) {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e, known := d.led.Entries()[key]
	if !known || !d.wasRight(ctx, t, e) {
		return nil
	}
	if l := d.notRepaired(ctx, t, c, e); l != nil {
		d.found.Postpone(key, l)
		return l
	}
	dec := d.decide(t, e.Drift)
	note := d.damping.noted
	if d.pods(t) {
		note = d.damping.notedPods
	}
	made, fought := note(e.Drift, dec, d.now), (*changes.Deferral)(nil)
	if d.pods(t) && d.damping.contestedPods(made) {
		fought = d.contested(t, c, made, decision{contested: true})
	}
	d.found.Put(key, made, fought)
	return nil
}

// Quicker returns a deferral for a repair whose key was changed again before the pass looked at it.
// Another program is quicker, so that is a conflict and not a failure. If a person asked for the
// repair, Quicker returns nil and the task fails.
func (d *Judge) Quicker(t tasks.Task, left *tasks.Change) *changes.Deferral {
	if d == nil || d.force {
		return nil
	}
	key := t.Owns()[0]
	note := d.found.Note(key)
	if note == nil {
		return nil
	}
	dec := d.decide(t, note)
	if dec.repair {
		dec.until = d.now
	}
	l := d.contested(t, left, note, dec)
	d.found.Postpone(key, l)
	return l
}

// NotePods writes into a step what pods lack without its key, if they depend on the key and it is
// not right.
func (d *Judge) NotePods(s *report.Step, t tasks.Task) {
	if d == nil {
		return
	}
	if s.Pods = s.Pods || d.lost(s, t); s.Pods {
		s.Means = d.means(t)
	}
}

// lost reports whether a step's key was right, pods depend on it, and it is not repaired.
func (d *Judge) lost(s *report.Step, t tasks.Task) bool {
	key := t.Owns()[0]
	wrong := s.State == report.Failed || s.State == report.Planned || s.State == report.Skipped && d.missing[key]
	if !wrong || s.Refused != "" || !d.pods(t) {
		return false
	}
	e, known := d.led.Entries()[key] // decodes the ledger, but only if something is wrong
	return known && d.sameTask(e) && (!tasks.GoneAfterBoot(t, key) || e.Boot == d.boot)
}

// FindMissing checks the keys that pods depend on and whose tasks were skipped because a task that
// they need failed. Most of those keys are right.
func (d *Judge) FindMissing(ctx context.Context, rep tasks.Report) {
	if d == nil {
		return
	}
	d.missing = map[graph.Key]bool{}
	for i := range rep.Results {
		if res := &rep.Results[i]; res.State == graph.Skipped && d.pods(res.Node) {
			c, err := changes.PlanWithRetry(ctx, res.Node, d.view)
			d.missing[res.Key] = c != nil || err != nil && !graph.IsWait(err)
		}
	}
}

// Spare removes the restart of a unit that already runs from the text which is written again:
// somebody only removed its file.
func (d *Judge) Spare(ctx context.Context, t tasks.Task, c *tasks.Change) {
	u, ok := t.(tasks.Unit)
	if d == nil || !ok || c.Items[len(c.Items)-1].Op != tasks.Create {
		return
	}
	if d.found.Note(t.Owns()[0]) != nil && !u.RunsFromElsewhere(ctx, d.view) {
		c.Effects = slices.DeleteFunc(slices.Clone(c.Effects),
			func(k graph.Key) bool { return k == tasks.Restart(u.Name) })
	}
}

// wasRight reports whether a key was as the task wants it, or was made so.
func (d *Judge) wasRight(ctx context.Context, t tasks.Task, e ledger.Entry) bool {
	switch {
	case !d.sameTask(e):
		return false
	case tasks.GoneAfterBoot(t, e.Key) && e.Boot != d.boot && d.led.Head().Boot != d.boot:
		return false // the reboot removed it
	}
	set, issued := t.(tasks.CertificateSet)
	return !issued || set.Source == "" || d.altered(ctx, set)
}

// sameTask reports whether an entry's key was right for the very task that is wanted now.
func (d *Judge) sameTask(e ledger.Entry) bool {
	rec, kept := d.set.Of(e.Key)
	return kept && !e.Released && e.Task != nil && e.Task.Same(rec.Recorded) && (!e.Pending || e.Again)
}

// altered reports whether somebody changed a certificate that was issued to the node. A renewal
// does not change the task, so the task alone does not tell.
func (d *Judge) altered(ctx context.Context, set tasks.CertificateSet) bool {
	return slices.ContainsFunc(set.Owns(), func(key graph.Key) bool {
		e, known := d.led.Entries()[key]
		live, err := tasks.StateReaderOf(set, key).Live(ctx, d.view)
		return known && err == nil && live != e.Last
	})
}

// Mark writes into the entry of a key that is about to change whether the change is a repair.
func (d *Judge) Mark(e *ledger.Entry) {
	if d != nil {
		e.Drift, e.Again = nil, false
		if note := d.found.Note(e.Key); note != nil {
			now := *note // the other program is not known yet
			e.Drift, e.Again = &now, true
		}
		e.Untried = e.Untried && e.Again
	}
}

// NameIn writes into the entry which other program writes a repaired key, if that is known now.
func (d *Judge) NameIn(e *ledger.Entry) bool {
	note := d.Repairs().Note(e.Key)
	if note == nil || e.Drift == nil || e.Drift.Writer == note.Writer {
		return false
	}
	e.Drift = note
	return true
}

// WasQuicker reports whether a key was repaired in this pass and changed again before the pass
// looked at it.
func (d *Judge) WasQuicker(key graph.Key) bool {
	return d.Repairs().Note(key) != nil && d.Repairs().Later(key) != nil
}
