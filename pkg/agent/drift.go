package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// drift tells, in one pass, the changes that bring something back from those that somebody wants.
//
// A change is a repair if the ledger says that the key was right for this very task. A task is all
// that is wanted of the key, with what it got from facts and from the API: another MTU, another pod
// CIDR is another task, and its change is intended, while a newer configuration that wants the same
// of a key does not hide what somebody did to it.
type drift struct {
	custody *custody
	view    host.View
	boot    string
	now     time.Time
	node    *config.Node // says what becomes of drift
	peace   peace
	pods    func(tasks.Task) bool   // pods stand on it
	means   func(tasks.Task) string // what pods lack without it
	afresh  bool                    // a person asks: what is given up is tried again at once

	mu      sync.Mutex
	repairs map[graph.Key]*ledger.Drift // by a task's first key: what the ledger says of it once it is repaired
	left    map[graph.Key]*leaving      // by a task's first key: what is not repaired now
	missing map[graph.Key]bool          // by a task's first key: it was skipped, and is not as wanted
	fought  map[graph.Key]*leaving      // by a task's first key: what is repaired, and contested all the same, for pods stand on it
}

func newDrift(c *custody, v host.View, d *desired.State, afresh bool, now time.Time) *drift {
	node := d.Node
	return &drift{
		custody: c, view: v, boot: c.led.Boot(), now: now.UTC().Truncate(time.Millisecond), node: node, peace: peaceOf(node.Drift.Contested), afresh: afresh,
		repairs: map[graph.Key]*ledger.Drift{}, left: map[graph.Key]*leaving{}, fought: map[graph.Key]*leaving{}, pods: d.PodsStandOn, means: model.WithoutIt,
	}
}

// judge looks at a change that is planned. If what it would repair is left as it is, that is
// returned. Tasks are planned at the same time, and the ledger is only decoded for a pass that
// changes something.
func (d *drift) judge(ctx context.Context, t tasks.Task, c *tasks.Change) *leaving {
	key := t.Owns()[0]
	if d == nil || c.NotHere != "" || !effectual(key) {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e, known := d.custody.led.Entries()[key]
	if !known || !d.wasRight(ctx, t, e) {
		return nil
	}
	if l := d.leave(ctx, t, c, e); l != nil {
		d.left[key] = l
		return l
	}
	rule := d.rule(t, e.Drift)
	note := d.peace.noted
	if d.pods(t) {
		note = d.peace.notedPods
	}
	d.repairs[key] = note(e.Drift, rule, d.now)
	if d.pods(t) && d.peace.contestedPods(d.repairs[key]) {
		d.fought[key] = d.leaving(t, c, d.repairs[key], ruling{contested: true})
	}
	return nil
}

// quicker is what becomes of a repair that was changed again before anybody looked at it: the other
// is quicker, and it is a quarrel and no failure. A person who asks for the repair hears that it
// failed.
func (d *drift) quicker(t tasks.Task, left *tasks.Change) *leaving {
	if d == nil || d.afresh {
		return nil
	}
	key := t.Owns()[0]
	d.mu.Lock()
	defer d.mu.Unlock()
	note := d.repairs[key]
	if note == nil {
		return nil
	}
	rule := d.rule(t, note)
	if rule.repair {
		rule.until = d.now
	}
	l := d.leaving(t, left, note, rule)
	d.left[key] = l
	delete(d.fought, key)
	return l
}

// lost says of a step that its key was right, pods stand on it, and it is not brought back.
func (d *drift) lost(s *report.Step, t tasks.Task) bool {
	if d == nil || s.Refused != "" || !d.pods(t) {
		return false
	}
	e, known := d.custody.led.Entries()[t.Owns()[0]]
	if !known || !d.sameTask(e) || tasks.GoneAfterBoot(t, e.Key) && e.Boot != d.boot {
		return false
	}
	return s.State == report.Failed || s.State == report.Planned || s.State == report.Skipped && d.missing[e.Key]
}

// findMissing looks at what pods stand on and was skipped, since what it needs failed: most of it
// is right.
func (d *drift) findMissing(ctx context.Context, rep graph.Report[tasks.Task]) {
	if d == nil {
		return
	}
	d.missing = map[graph.Key]bool{}
	for i := range rep.Results {
		if res := &rep.Results[i]; res.State == graph.Skipped && d.pods(res.Node) {
			c, err := planStill(ctx, res.Node, d.view)
			d.missing[res.Node.Owns()[0]] = c != nil || err != nil && !graph.IsWait(err)
		}
	}
}

// spare leaves a unit alone that runs from the very text which is written again: somebody removed
// its file, and nothing else.
func (d *drift) spare(ctx context.Context, t tasks.Task, c *tasks.Change) {
	u, ok := t.(tasks.Unit)
	if d == nil || !ok || c.Items[len(c.Items)-1].Op != tasks.Create {
		return
	}
	d.mu.Lock()
	repair := d.repairs[t.Owns()[0]] != nil
	d.mu.Unlock()
	if repair && !u.RunsFromElsewhere(ctx, d.view) {
		c.Asks = slices.DeleteFunc(slices.Clone(c.Asks), func(k graph.Key) bool { return k == tasks.Restart(u.Name) })
	}
}

// wasRight says that a key was as the task wants it, or was made so.
func (d *drift) wasRight(ctx context.Context, t tasks.Task, e ledger.Entry) bool {
	switch {
	case !d.sameTask(e):
		return false
	case tasks.GoneAfterBoot(t, e.Key) && e.Boot != d.boot && d.custody.led.Head().Boot != d.boot:
		return false // it went with the boot
	}
	set, issued := t.(tasks.CertificateSet)
	return !issued || set.Source == "" || d.altered(ctx, set)
}

// sameTask says that the key of an entry was right for the very task that is wanted now.
func (d *drift) sameTask(e ledger.Entry) bool {
	rec, kept := d.custody.record(e.Key)
	return kept && !e.Released && e.Task != nil && e.Task.Same(rec.Recorded) && (!e.Pending || e.Again)
}

// altered says that somebody changed a certificate that was issued to the node. Its task is the
// same when it is renewed.
func (d *drift) altered(ctx context.Context, set tasks.CertificateSet) bool {
	return slices.ContainsFunc(set.Owns(), func(key graph.Key) bool {
		e, known := d.custody.led.Entries()[key]
		live, err := tasks.KeeperOf(set, key).Live(ctx, d.view)
		return known && err == nil && live != e.Last
	})
}

// mark puts into the entry of a key that is about to change what the change is.
func (d *drift) mark(e *ledger.Entry) {
	if d != nil {
		e.Drift, e.Again = nil, false
		if note := d.repairs[e.Key]; note != nil {
			now := *note // who else writes it is not known yet
			e.Drift, e.Again = &now, true
		}
		e.Untried = e.Untried && e.Again
	}
}

// nameIn notes who else writes a key that was repaired, if that is known now.
func (d *drift) nameIn(e *ledger.Entry) bool {
	if d == nil || d.repairs[e.Key] == nil || e.Drift == nil || e.Drift.Writer == d.repairs[e.Key].Writer {
		return false
	}
	e.Drift = d.repairs[e.Key]
	return true
}

// undid notes of a change that was made, and was not there any more when it was looked at, that to
// make it again is a repair. So is the next start of a unit that did not come up, or is not known
// to have: each waits longer.
func (c *custody) undid(res *graph.Result[tasks.Task], b *ledger.Batch) {
	var gone *NotConvergedError
	var down *StartError
	e, known := c.led.Entries()[res.Node.Owns()[0]]
	_, starts := startOf(res.Node)
	if known && e.Pending && c.drift.wasQuicker(e.Key) && c.drift.nameIn(&e) {
		b.Put = append(b.Put, e)
	}
	if !known || !e.Pending || !errors.As(res.Err, &gone) && !errors.As(res.Err, &down) && !(starts && graph.IsWait(res.Err)) {
		return
	}
	if was := e; c.drift.nameIn(&e) || !e.Again {
		e.Untried = e.Untried || !e.Again
		e.Again = true
		if !sameEntry(was, e) {
			b.Put = append(b.Put, e)
		}
	}
}

// wasQuicker says that a key was repaired in this pass and changed again before it was looked at.
func (d *drift) wasQuicker(key graph.Key) bool {
	return d != nil && d.repairs[key] != nil && d.left[key] != nil
}

// repair says that the change of a task is one; of an effect, that all who ask for it are repaired.
func (c *changes) repair(key graph.Key) bool {
	if c.drift == nil {
		return false
	}
	if effectual(key) {
		return c.drift.repairs[key] != nil
	}
	asked := false
	for by, other := range c.byKey {
		if other.NotHere == "" && slices.Contains(other.Asks, key) {
			if asked = true; c.drift.repairs[by] == nil {
				return false
			}
		}
	}
	return asked
}
