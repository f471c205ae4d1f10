package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/hostroot"
)

// listener keeps every status that it gets.
type listener struct {
	mu     sync.Mutex
	told   []*report.Status
	events []report.Event
}

func (l *listener) Observe(now *report.Status, happened []report.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told, l.events = append(l.told, now), append(l.events, happened...)
}

func (l *listener) all() []*report.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.told)
}

func (l *listener) last() *report.Status {
	all := l.all()
	return all[len(all)-1]
}

func (l *listener) heard(kind report.EventKind, key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.events, func(e report.Event) bool { return e.Kind == kind && e.Key == key })
}

func TestObserversAreTold(t *testing.T) {
	b, heard := newBox(t), &listener{}
	b.daemon.Observers = []Observer{heard}
	const sysctls = "/etc/sysctl.d/99-netwright.conf"
	b.live(t, func(t *testing.T) {
		if first := heard.all()[0]; first.State != report.NodeStarting || first.Node != "n" || first.Last != nil {
			t.Errorf("first: %+v", first)
		}
		if w := heard.all()[1].Working; w == nil || w.Activity != "start" || w.Changes == 0 {
			t.Errorf("at work: %+v", w)
		}
		now := heard.last()
		if now.State != report.NodeConverged || !now.Prepared || now.Working != nil || now.Last.Cause != "start" || len(now.Last.Phases) < 5 || now.Configuration.Checked.IsZero() || now.Next.IsZero() {
			t.Errorf("after the first pass: %+v, last %+v", now, now.Last)
		}
		if !heard.heard(report.EventChanged, "file:"+conflist) {
			t.Errorf("not told that the conf was written: %+v", heard.events)
		}
		made := now.Totals.Changes

		if err := errors.Join(os.Remove(filepath.Join(b.root, sysctls)), os.MkdirAll(filepath.Join(b.root, sysctls, "in the way"), 0o755)); err != nil {
			t.Fatal(err)
		}
		later(2 * b.daemon.Interval)
		now = heard.last()
		if now.State != report.NodeFailing || !slices.ContainsFunc(now.Keys, func(k report.KeyStatus) bool { return k.Key == "file:"+sysctls && k.State == report.KeyFailing }) {
			t.Errorf("with something in the way: %s, %+v", now.State, now.Keys)
		}
		since := now.Keys[0].Since
		later(2 * b.daemon.Interval)
		if now = heard.last(); !now.Keys[0].Since.Equal(since) {
			t.Errorf("it has failed since %s, and then since %s", since, now.Keys[0].Since)
		}
		if err := os.RemoveAll(filepath.Join(b.root, sysctls)); err != nil {
			t.Fatal(err)
		}
		later(2 * b.daemon.Interval)
		if now = heard.last(); now.State != report.NodeConverged || !heard.heard(report.EventRight, "file:"+sysctls) || now.Totals.Changes != made || now.Totals.Repairs != 1 {
			t.Errorf("without it: %s, %+v", now.State, now.Totals)
		}
		for _, s := range heard.all() {
			if s.At.After(now.At) {
				t.Error("a status was changed after it was told")
			}
		}
	})
}

// Where the ledger cannot be written, the agent restores what was right all the same. The status
// says that the ledger cannot be written as long as that is so, also when all is right.
func TestStatusNamesALedgerThatCannotBeWritten(t *testing.T) {
	b, heard := newBox(t), &listener{}
	b.daemon.Observers = []Observer{heard}
	b.live(t, func(t *testing.T) {
		const sysctls = "/etc/sysctl.d/99-netwright.conf"
		hostroot.Seal(t, b.root, true)
		t.Cleanup(func() { hostroot.Seal(t, b.root, false) })
		if err := os.Remove(filepath.Join(b.root, sysctls)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			later(2 * b.daemon.Interval)
			if now := heard.last(); now.State != report.NodeFailing || !strings.Contains(now.Reason, "write the ledger") {
				t.Errorf("the status is %s: %s", now.State, now.Reason)
			}
		}
		if !b.has(sysctls) {
			t.Error("the file was not restored")
		}
		hostroot.Seal(t, b.root, false)
		later(2 * b.daemon.Interval)
		if now := heard.last(); now.State != report.NodeConverged {
			t.Errorf("when it can be written again: %s: %s", now.State, now.Reason)
		}
	})
}

// While a checkpoint probes a change, nothing is repaired, and the status does not say that all is
// right. A state that is worse stays. The lines that keep it: node_status.go, notify (Proving);
// observed_pass.go, observed (Prove).
func TestAStatusSaysThatAChangeIsProved(t *testing.T) {
	for state, want := range map[report.NodeState]report.NodeState{
		report.NodeConverged: report.NodeWaiting, report.NodeWaiting: report.NodeWaiting, report.NodeFailing: report.NodeFailing,
	} {
		b, heard := newBox(t), &listener{}
		l := newLoop(b.daemon)
		l.status.observers, l.status.now.State = []Observer{heard}, state
		pass, _ := l.observed(t.Context(), reconcile.Pass{}, trigger{cause: "interval"})
		pass.Hooks.OnPlan(&report.Plan{Summary: report.Summary{Update: 1}})
		if s := heard.last(); s.State != state || s.Working == nil || s.Working.Proving {
			t.Errorf("before the probes of a node that was %s: %s, %+v", state, s.State, s.Working)
		}
		pass.Hooks.OnPhase(session.Prove)
		s := heard.last()
		var text strings.Builder
		err := report.StatusText(&text, report.StatusView{Status: s, Daemon: report.Daemon{Running: true}}, report.StatusOptions{Now: s.At})
		if err != nil || s.State != want || !strings.Contains(text.String(), "with 1 change made, which a checkpoint probes") {
			t.Errorf("while a node that was %s is probed: %v\n%s", state, err, &text)
		}
		if l.status.now.State != state {
			t.Errorf("a pass that ends without a plan leaves the node %s", l.status.now.State)
		}
	}
}
