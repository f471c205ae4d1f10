package reconcile

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/guard"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/reconcile/revert"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// unconfirmedChange leaves below a root what a pass leaves whose change awaits its confirmation:
// the changes, the prepared revision, and the journal.
func unconfirmedChange(t *testing.T, root string, since time.Duration, list ...tasks.Task) {
	t.Helper()
	ctx := t.Context()
	led, err := onRoot(root).Session().LoadLedger()
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(ctx, host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	p := onRoot(root)
	d := wanting(list...)
	d.Snapshot.Generation, d.Snapshot.Digest = 7, "d7"
	r, err := p.plan(ctx, d, h.Live.View(), led)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := guard.Remember(r.ownership, r.wanted.Changes, "ada", r.desired.Network())
	if err == nil {
		_, err = r.ownership.Intend(ctx, h, r.wanted.Changes, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range list {
		if c := r.wanted.Changes.Get(task.Owns()[0]); c != nil {
			if err := task.Apply(ctx, h, c); err != nil {
				t.Fatal(err)
			}
		}
	}
	a := checkpoint.Awaits{By: "ada", For: time.Hour, Up: host.Uptime() - since, At: time.Now()}
	if a.Set, a.New, err = r.ownership.Prepare(ctx, h, ownership.Ending{By: "ada", Desired: r.desired}); err != nil {
		t.Fatal(err)
	}
	j := checkpoint.Journal{Version: 1, Generation: 7, Digest: "d7", Before: memory, Awaits: &a}
	journal, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	hostroot.Put(t, root, checkpoint.JournalFile, string(journal))
}

// While a change awaits its confirmation, nothing else is changed. The daemon's passes report that,
// and a command that asks for a change gets the reason. The lines that keep it:
// pkg/reconcile/session/undo.go, finishUndo; confirm.go, lookMeanwhile; converge.go, Converge.
func TestNothingIsChangedWhileAChangeAwaits(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	mustConverge(t, root, file("/etc/a", "1"))
	unconfirmedChange(t, root, time.Minute, file("/etc/a", "2"))
	hostroot.Put(t, root, "/etc/a", "somebody's")
	was := hostroot.Tree(t, root)

	d := wanting(file("/etc/a", "2"))
	d.Snapshot.Generation, d.Snapshot.Digest = 7, "d7"
	p, err := onRoot(root).Converge(t.Context(), d)
	if err != nil || p.Awaits == nil || p.Awaits.By != "ada" || p.Awaits.Generation != 7 ||
		p.Summary.Drifted != 1 || p.Waiting != nil {
		t.Errorf("a pass of the daemon: %v\n%s", err, said(p))
	}
	newer := wanting(file("/etc/a", "3"))
	newer.Snapshot.Generation, newer.Snapshot.Digest = 8, "d8"
	p, err = onRoot(root).Converge(t.Context(), newer)
	if err != nil || p.Awaits == nil || p.Waiting == nil || p.Waiting.Generation != 8 ||
		p.Generation != 7 || len(p.Steps) > 0 {
		t.Errorf("a pass with a newer generation: %v\n%s", err, said(p))
	}
	person := onRoot(root)
	person.By, person.TakeNow = "bob", "bob"
	for what, do := range map[string]func() error{
		"--once":   func() error { _, err := person.Converge(t.Context(), newer); return err },
		"rollback": func() error { _, err := person.Rollback(t.Context(), 1); return err },
		"pause":    func() error { _, err := person.Session().Pause(t.Context(), time.Minute, "x"); return err },
		"resume":   func() error { _, err := person.Session().Resume(t.Context()); return err },
		"reset":    func() error { _, err := resetOf(person).Run(t.Context()); return err },
	} {
		var awaits *session.AwaitsError
		if err := do(); !errors.As(err, &awaits) || awaits.By != "ada" {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
	now := hostroot.Tree(t, root)
	for path, content := range was {
		if now[path] != content && !strings.Contains(path, "/lock") {
			t.Errorf("%s was changed", path)
		}
	}
	h, err := history.Read(onRoot(root).Host)
	if err != nil || h.Awaits == nil || h.Awaits.Revision != 2 || h.Current != 1 || len(h.Revisions) != 2 {
		t.Errorf("history: %v, %+v", err, h)
	}
}

// After a confirmation the node and the ledger are at the confirmed revision: nothing is left to
// do. The lines that keep it: confirm.go, Confirm and complete; carry_out.go, end (awaits).
func TestWhatIsConfirmedStays(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	mustConverge(t, root, file("/etc/a", "1"), file("/etc/gone", "1"))
	list := []tasks.Task{file("/etc/a", "2"), file("/etc/new", "2")}
	unconfirmedChange(t, root, time.Minute, list...)
	kept, err := onRoot(root).Confirm(t.Context())
	if err != nil || kept != "generation 7 is confirmed, and stays" {
		t.Fatalf("Confirm returns %q, %v, want %q", kept, err, "generation 7 is confirmed, and stays")
	}
	entries, head, _ := entriesOf(t, root)
	if !head.Clean || head.Current != 2 || head.Former != 1 || entries["file:/etc/new"].Mode != ledger.Owned ||
		hostroot.There(root, "/etc/gone") || hostroot.There(root, checkpoint.JournalFile) {
		t.Errorf("after the confirmation: %+v, %+v", head, entries)
	}
	if p := mustConverge(t, root, list...); p.Summary.Changes() != 0 || hostroot.Read(t, root, "/etc/a") != "2" {
		t.Errorf("the next pass:\n%s", said(p))
	}
	if _, err := onRoot(root).Confirm(t.Context()); !errors.Is(err, checkpoint.ErrNothingAwaits) {
		t.Errorf("it was confirmed twice: %v", err)
	}
}

// Where the files of a confirmed change's checkpoint cannot be removed, the change stays, and the
// command says so. The lines that keep it: pkg/checkpoint/confirmation.go, Confirm; confirm.go,
// Confirm.
func TestAConfirmationThatCannotClearUpKeeps(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	mustConverge(t, root, file("/etc/a", "1"))
	unconfirmedChange(t, root, time.Minute, file("/etc/a", "2"))
	inTheWay := checkpoint.Dir + "/agent/x" // the place of the program's copy
	hostroot.Put(t, root, inTheWay, "")
	kept, err := onRoot(root).Confirm(t.Context())
	if err != nil || !strings.HasPrefix(kept, "generation 7 is confirmed, and stays; the next pass goes on: ") {
		t.Errorf("Confirm returns %q, %v", kept, err)
	}
	if h, err := history.Read(onRoot(root).Host); err != nil || h.Awaits != nil || h.Current != 2 || hostroot.Read(t, root, "/etc/a") != "2" {
		t.Errorf("history: %v, %+v", err, h)
	}
}

// Only a login that began after the change may confirm it. The line that keeps it:
// pkg/reconcile/session/without_lock.go, MayConfirm.
func TestOnlyANewLoginConfirms(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	mustConverge(t, root, file("/etc/a", "1"))
	if err := onRoot(root).Session().MayConfirm(t.Context()); !errors.Is(err, checkpoint.ErrNothingAwaits) {
		t.Errorf("without a change: %v", err)
	}
	unconfirmedChange(t, root, 0, file("/etc/a", "2"))
	if err := onRoot(root).Session().MayConfirm(t.Context()); err == nil || !strings.Contains(err.Error(), "login") {
		t.Errorf("a login from before the change: %v", err)
	}
}

// A change that nobody confirmed is in no revision. The node keeps what it had until a command asks
// for the change again. The lines that keep it: pkg/reconcile/revert/revert.go, Recorder
// (DropRevision); pkg/reconcile/rollout/update.go, Take; pkg/reconcile/rollout/update.go, Verdict.
func TestWhatNobodyConfirmedWaits(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	mustConverge(t, root, file("/etc/a", "1"))
	unconfirmedChange(t, root, time.Minute, file("/etc/a", "2"))
	data, err := os.ReadFile(filepath.Join(root, checkpoint.JournalFile))
	var j checkpoint.Journal
	if err == nil {
		err = json.Unmarshal(data, &j)
	}
	if err == nil { // as its undo does
		hostroot.Put(t, root, "/etc/a", "1")
		err = os.Remove(filepath.Join(root, checkpoint.JournalFile))
	}
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	v := checkpoint.Verdict{
		Generation: 7, Digest: "d7", Bad: true, Unconfirmed: true, Why: "nobody confirmed it within 1h0m0s",
		Tries: 1, At: time.Now(), Awaits: j.Awaits,
	}
	for range 2 { // it may be killed and repeated
		if err := revert.Recorder(nil)(t.Context(), h, j.Before, v); err != nil {
			t.Fatal(err)
		}
	}
	verdict, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	hostroot.Put(t, root, checkpoint.VerdictFile, string(verdict))
	past, err := history.Read(onRoot(root).Host)
	if err != nil || len(past.Revisions) != 1 || past.Current != 1 ||
		len(past.Undone) != 1 || !past.Undone[0].Unconfirmed {
		t.Errorf("past: %v, %+v", err, past)
	}
	d := wanting(file("/etc/a", "2"))
	d.Snapshot.Generation, d.Snapshot.Digest = 7, "d7"
	p, err := onRoot(root).Converge(t.Context(), d)
	if err == nil || hostroot.Read(t, root, "/etc/a") != "1" || !strings.Contains(err.Error(), "nobody confirmed it") {
		t.Errorf("nobody asked for it: %v\n%s", err, said(p))
	}
	person := onRoot(root)
	person.TakeNow = "ada"
	if _, err := person.Converge(t.Context(), d); err != nil || hostroot.Read(t, root, "/etc/a") != "2" {
		t.Errorf("somebody asked for it: %v, /etc/a is %q", err, hostroot.Read(t, root, "/etc/a"))
	}
}
