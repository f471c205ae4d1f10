package reconcile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/reconcile/guard"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/reconcile/revert"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// takeBack makes a pass on a root and undoes it, as a checkpoint does. back makes what the undo
// leaves on the host.
func takeBack(t *testing.T, root string, back func(), list ...tasks.Task) {
	t.Helper()
	ctx := t.Context()
	led, err := Pass{Host: host.Options{Root: root}}.Session().LoadLedger()
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(ctx, host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	p := onRoot(root)
	r, err := p.plan(ctx, wanting(list...), h.Live.View(), led)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := guard.Remember(r.ownership, r.wanted.Changes, "ada", r.desired.Network())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ownership.Intend(ctx, h, r.wanted.Changes, false); err != nil {
		t.Fatal(err)
	}
	if err := execute.Enqueue(ctx, h, led, r.wanted.Changes); err != nil {
		t.Fatal(err)
	}
	for _, task := range list {
		if c := r.wanted.Changes.Get(task.Owns()[0]); c != nil && tasks.IsState(task.Owns()[0]) {
			if err := task.Apply(ctx, h, c); err != nil {
				t.Fatal(err)
			}
		}
	}
	back()
	v := checkpoint.Verdict{Generation: 7, Digest: "d7", Bad: true, Why: "tcp:x (no answer)", Tries: 1, At: time.Now()}
	for range 2 { // it may be killed and repeated by another process
		if err := revert.Recorder(nil)(ctx, h, raw, v); err != nil {
			t.Fatal(err)
		}
	}
}

func entriesOf(t *testing.T, root string) (map[string]ledger.Entry, ledger.Head, map[string][]string) {
	t.Helper()
	led, err := Pass{Host: host.Options{Root: root}}.Session().LoadLedger()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]ledger.Entry{}
	for key, e := range led.Entries() {
		out[string(key)] = e
	}
	return out, led.Head(), led.Effects.List()
}

// What was undone is not ours. The ledger is as before the change, and if somebody makes the same
// file later, it stays. The lines that keep it: pkg/reconcile/revert/revert.go, restore (Put, Drop,
// Clean) and cancelEffects.
func TestTheLedgerForgetsWhatWasUndone(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	hostroot.Put(t, root, "/etc/found", "theirs")
	hostroot.Put(t, root, "/etc/met", "theirs")
	kept := []tasks.Task{file("/etc/kept", "1"), file("/etc/found", "ours")}
	mustConverge(t, root, kept...)
	entries, head, owed := entriesOf(t, root)

	asking := file("/etc/new/deep", "2")
	asking.Effects = append(asking.Effects, tasks.Restart("x.service"))
	takeBack(t, root, func() {
		for path, content := range map[string]string{"/etc/kept": "1", "/etc/found": "ours", "/etc/met": "theirs"} {
			hostroot.Put(t, root, path, content)
		}
		if err := os.RemoveAll(filepath.Join(root, "etc/new")); err != nil {
			t.Fatal(err)
		}
	}, file("/etc/kept", "2"), file("/etc/found", "2"), file("/etc/met", "2"), asking, tasks.EffectOf(tasks.Restart("x.service")))

	entriesNow, headNow, owedNow := entriesOf(t, root)
	if diff := cmp.Diff(entries, entriesNow); diff != "" {
		t.Errorf("entries after the undo (-before +after):\n%s", diff)
	}
	if headNow != head || !headNow.Clean {
		t.Errorf("head %+v, before %+v", headNow, head)
	}
	if len(owedNow) != len(owed) {
		t.Errorf("owed after the undo: %v, before %v", owedNow, owed)
	}
	hostroot.Put(t, root, "/etc/new/deep", "2") // a person's file, with the content of the undone generation
	if p := mustConverge(t, root, kept...); len(removed(p)) > 0 {
		t.Errorf("removed: %v", removed(p))
	}
	mustConverge(t, root)
	for _, path := range []string{"/etc/new/deep", "/etc/found", "/etc/met"} {
		if !hostroot.There(root, path) {
			t.Errorf("%s was removed", path)
		}
	}
	if hostroot.There(root, "/etc/kept") {
		t.Error("what was ours before the undo is not pruned any more")
	}
	h, err := history.Read(onRoot(root).Host)
	if err != nil || len(h.Undone) != 1 || !h.Undone[0].Bad || h.Undone[0].By != "ada" || h.Undone[0].Generation != 7 || h.Undone[0].Network != "test" {
		t.Errorf("history: %v, %+v", err, h)
	}
	if i := slices.IndexFunc(h.Revisions, func(r ledger.Revision) bool { return r.Generation == 7 }); i >= 0 {
		t.Errorf("an undone generation has a revision: %+v", h.Revisions[i])
	}
}

// What an undo could not remove stays ours, as otherwise nothing would ever remove it. Here that is
// a directory that others use by now. The line that keeps it: pkg/reconcile/revert/revert.go,
// stillOurs.
func TestWhatTheUndoLeavesStaysOurs(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	mustConverge(t, root, file("/etc/kept", "1"))
	takeBack(t, root, func() {
		if err := os.Remove(filepath.Join(root, "etc/new/a")); err != nil {
			t.Fatal(err)
		}
		hostroot.Put(t, root, "/etc/new/theirs", "x")
	}, file("/etc/kept", "1"), file("/etc/new/a", "1"))
	if err := os.Remove(filepath.Join(root, "etc/new/theirs")); err != nil {
		t.Fatal(err)
	}
	mustConverge(t, root, file("/etc/kept", "1"))
	if hostroot.There(root, "/etc/new") {
		t.Error("our empty directory stays for ever")
	}
}

// A link that networkd makes by a file of the change belongs to the change, whichever builder makes
// the file. A link that is there already does not. The lines that keep it:
// pkg/reconcile/guard/undoable_changes.go, Netdevs; pkg/tasks/network_files.go, Netdev.
func TestLinksOfNetdevFilesAreOfTheChange(t *testing.T) {
	bridge := file("/etc/systemd/network/05-x.netdev", "[NetDev]\nName = br9\nKind=bridge\n")
	there := file("/etc/systemd/network/06-x.netdev", "[NetDev]\nName=lo\n")
	other := file("/etc/app/x.netdev", "Name=br8\n")
	for name, task := range map[string]tasks.Task{"a value": bridge, "a pointer": &bridge} {
		g, err := graph.New([]tasks.Task{task, there, other}, tasks.AsNodes{}, graph.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := guard.PlannedWork{Graph: g, Changes: changes.NewSet()}
		for _, one := range g.Order() {
			w.Changes.Put(one.Owns()[0], &tasks.Change{})
		}
		view, err := host.OpenView(t.Context(), host.Options{Root: "/"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.Netdevs(t.Context(), view.View()); err != nil || !slices.Equal(got, []graph.Key{tasks.LinkKey("br9")}) {
			t.Errorf("%s: Netdevs returns %v, %v", name, got, err)
		}
		view.Close()
	}
}
