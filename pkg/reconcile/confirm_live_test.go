package reconcile

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/netns"
)

// A pass with a confirmation takes a checkpoint, whatever it changes, and stops before its end.
// After an undo the node and its ledger are as before. After a confirmation they are as after any
// pass. The lines that keep it: await_confirmation.go, await; carry_out.go, confirm (await, Prove)
// and end; pkg/reconcile/guard/guard.go, Before (all); pkg/reconcile/session/without_lock.go.
func TestAPassAwaitsItsConfirmation(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	plain := Pass{
		Host: host.Options{Root: "/", Facts: &host.Facts{Init: "systemd"}}, Log: zap.NewNop(),
		Checkpoint: checkpoint.Settings{Probes: []probe.Probe{"nonsense:x"}, Window: time.Second},
	}
	var phases []string
	plain.Hooks.OnPhase = func(name string) { phases = append(phases, name) }
	asked := plain
	asked.ConfirmWithin, asked.TakeNow = time.Hour, "ada"
	want := func(content string, more ...tasks.Task) *desired.State {
		d := wanting(append([]tasks.Task{file("/etc/a", content)}, more...)...)
		d.Snapshot.Digest = "d" + content
		return d
	}
	made := func(p Pass, d *desired.State) *report.Plan {
		t.Helper()
		plan, err := p.Converge(t.Context(), d)
		if err != nil {
			t.Fatalf("%v\n%s", err, said(plan))
		}
		return plan
	}
	if p := made(plain, want("1")); p.Awaits != nil {
		t.Errorf("a pass that nobody is to confirm awaits that: %+v", p.Awaits)
	}
	if !slices.Contains(phases, session.Prove) {
		t.Errorf("the pass does not say that its checkpoint probes: %v", phases)
	}
	was, head, _ := entriesOf(t, "/")

	// Here the pass also changes something that needs no checkpoint in other passes.
	second := want("2", file("/etc/kubernetes/new", "2"))
	p := made(asked, second)
	if a := p.Awaits; a == nil || a.By != "ada" || a.Revision != 2 || hostroot.Read(t, "/", "/etc/a") != "2" || !strings.Contains(said(p), "log in anew") {
		t.Fatalf("%+v\n%s", a, said(p))
	}
	if p := made(plain, second); p.Awaits == nil || p.Summary.Changes()+p.Summary.Drifted > 0 {
		t.Errorf("the daemon meanwhile:\n%s", said(p))
	}
	var awaits *session.AwaitsError
	if _, err := asked.Converge(t.Context(), second); !errors.As(err, &awaits) {
		t.Errorf("another run: %v", err)
	}
	if _, err := plain.Session().Undo(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	now, headNow, _ := entriesOf(t, "/")
	if len(now) != len(was) || headNow != head || hostroot.Read(t, "/", "/etc/a") != "1" || hostroot.There("/", "/etc/kubernetes/new") {
		t.Errorf("after the undo: %+v, before %+v; %d entries, before %d", headNow, head, len(now), len(was))
	}
	h, err := history.Read(plain.Host)
	if err != nil || len(h.Revisions) != 1 || len(h.Undone) != 1 || !h.Undone[0].Unconfirmed || h.Awaits != nil {
		t.Errorf("history after the undo: %v, %+v", err, h)
	}

	if p := made(asked, second); p.Awaits == nil {
		t.Fatalf("a second command does not make the change:\n%s", said(p))
	}
	if kept, err := plain.Confirm(t.Context()); err != nil || kept != "generation 1 is confirmed, and stays" {
		t.Errorf("Confirm returns %q, %v, want %q", kept, err, "generation 1 is confirmed, and stays")
	}
	if h, err = history.Read(plain.Host); err != nil || h.Current != 2 || len(h.Revisions) != 2 {
		t.Errorf("history after the confirmation: %v, %+v", err, h)
	}
	if p := made(plain, second); p.Summary.Changes() > 0 || hostroot.Read(t, "/", "/etc/a") != "2" {
		t.Errorf("the next pass:\n%s", said(p))
	}
	if p := made(asked, second); p.Awaits != nil || !strings.Contains(said(p), "there is nothing to confirm") {
		t.Errorf("where nothing changes:\n%s", said(p))
	}
	if _, err := os.Stat(checkpoint.JournalFile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a journal is left: %v", err)
	}

	third := want("2", file("/etc/kubernetes/new", "3")) // harmless
	if p := made(asked, third); p.Awaits == nil {
		t.Errorf("a change that is proved harmless does not await its confirmation:\n%s", said(p))
	}
	if _, err := plain.Session().Undo(t.Context(), false); err != nil || hostroot.Read(t, "/", "/etc/kubernetes/new") != "2" {
		t.Errorf("its undo: %v", err)
	}

	// Members of an archive are never undone, so there is nothing to confirm: guard.go, before.
	tools := archiveOf(&oneShelf{body: tarOf(t, "tool", "one")})
	tools.Dir = "/var/lib/kubelet/tools"
	if p := made(asked, want("2", file("/etc/kubernetes/new", "2"), tools)); p.Awaits != nil ||
		!strings.Contains(said(p), "there is nothing to confirm") || hostroot.Read(t, "/", tools.Dir+"/tool") != "one" {
		t.Errorf("members of an archive:\n%s", said(p))
	}
}

// The journal has what documents declare of the links of their own network, since every undo reads
// there which links it leaves alone. The line that keeps it: take_checkpoint.go, undoable
// (OwnLinks).
func TestAnUndoKnowsTheLinksOfADeclaredNetwork(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	p := Pass{
		Host: host.Options{Root: "/", Facts: &host.Facts{Init: "systemd"}}, Log: zap.NewNop(), ConfirmWithin: time.Hour, TakeNow: "ada",
		Checkpoint: checkpoint.Settings{Probes: []probe.Probe{"nonsense:x"}, Window: time.Second},
	}
	d := wanting(file("/etc/a", "1"))
	d.Node.Networking.Custom = &networks.Custom{SharedHost: networks.CustomShared{Links: []string{"weft*"}}}
	if plan, err := p.Converge(t.Context(), d); err != nil || plan.Awaits == nil {
		t.Fatalf("%v\n%s", err, said(plan))
	}
	if journal := hostroot.Read(t, "/", checkpoint.JournalFile); !strings.Contains(journal, `"own":["weft*"]`) {
		t.Errorf("the network's own links are not in the journal:\n%s", journal)
	}
	if _, err := p.Session().Undo(t.Context(), false); err != nil {
		t.Error(err)
	}
}

// A pass that is confirmed as a whole writes nothing if it cannot be undone. Any other pass makes
// the changes that need no undo. The line that keeps it: take_checkpoint.go, prepare
// (ConfirmWithin).
func TestWhatCannotBeUndoneIsNotWrittenDown(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	p := Pass{
		Host: host.Options{Root: "/", Facts: &host.Facts{Init: "systemd"}}, Log: zap.NewNop(),
		Checkpoint: checkpoint.Settings{Probes: []probe.Probe{"nonsense:x"}, Window: time.Second},
	}
	large := strings.Repeat("large", 1<<20) // so large that a file keeps it
	want := func(a string) *desired.State {
		d := wanting(file("/etc/a", a))
		d.Snapshot.Digest = "d" + a[:1]
		return d
	}
	if plan, err := p.Converge(t.Context(), want("1"+large)); err != nil {
		t.Fatalf("%v\n%s", err, said(plan))
	}
	was, head, _ := entriesOf(t, "/")
	if err := errors.Join(os.MkdirAll(checkpoint.Dir, 0o700), unix.Mount("tmpfs", checkpoint.Dir, "tmpfs", unix.MS_RDONLY, "")); err != nil {
		t.Fatal(err)
	}
	p.ConfirmWithin, p.TakeNow = time.Hour, "ada"
	var refused *checkpoint.RefusedError
	if _, err := p.Converge(t.Context(), want("2"+large)); !errors.As(err, &refused) {
		t.Fatalf("the error is %v", err)
	}
	now, headNow, _ := entriesOf(t, "/")
	if !reflect.DeepEqual(now, was) || headNow != head {
		t.Errorf("%+v, %+v, before %+v, %+v", headNow, now, head, was)
	}
}
