package reconcile

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/guard"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/reconcile/revert"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/netns"
)

// failsABoot makes a pass on a root, and a boot that fails with its change. back makes what the
// undo leaves on the host.
func failsABoot(t *testing.T, root string, outcome firstboot.Outcome, back func(), list ...tasks.Task) []firstboot.Await {
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
	r, err := onRoot(root).plan(ctx, wanting(list...), h.Live.View(), led)
	if err != nil {
		t.Fatal(err)
	}
	awaits, err := guard.AtBoot(r.led, guard.PlannedWork(r.wanted), guard.PlannedWork(r.unwanted))
	if err != nil {
		t.Fatal(err)
	}
	mustConverge(t, root, list...)
	back()
	if led, err = onRoot(root).Session().LoadLedger(); err != nil {
		t.Fatal(err)
	}
	found := firstboot.Boot{ID: "b", Generation: 7, Outcome: firstboot.Restored, Why: "no way out"}
	for _, a := range awaits {
		found.Names = append(found.Names, a.Files...)
	}
	for range 2 { // it may be killed and repeated
		if err := (revert.BootBooks{Ledger: led}).Forget(ctx, h, awaits, found); err != nil {
			t.Fatal(err)
		}
	}
	found.Outcome = outcome
	if err := (revert.BootBooks{Ledger: led}).Note(ctx, h, found); err != nil {
		t.Fatal(err)
	}
	return awaits
}

// What the agent undid after a boot is not made again as long as the documents want all of it. The
// rest of the documents is made. The undone changes are made when the documents want something else
// for one of them. The lines that keep it: pkg/reconcile/guard/undoable_changes.go, AtBoot;
// pkg/reconcile/revert/revert.go, Forget; failed_boots.go, failedBoots; plan.go, planSteps
// (refused).
func TestWhatABootFailedWithIsNotMadeAgain(t *testing.T) {
	root := t.TempDir()
	const boots, gone, motd = "/etc/boots", "/etc/gone", "/etc/motd"
	mustConverge(t, root, file(boots, "1"), file(gone, "1"), file(motd, "1"))
	before, _, _ := entriesOf(t, root)
	bad := []tasks.Task{file(boots, "2"), file("/etc/new", "2"), file(motd, "2")}
	awaits := failsABoot(t, root, firstboot.Bad, func() {
		hostroot.Put(t, root, boots, "1")
		hostroot.Put(t, root, gone, "1")
		if err := os.Remove(root + "/etc/new"); err != nil {
			t.Fatal(err)
		}
	}, bad...)
	var names []string
	for _, a := range awaits {
		names = append(names, a.Files...)
	}
	if slices.Sort(names); !slices.Equal(names, []string{boots, gone, "/etc/new"}) {
		t.Errorf("it awaits a boot: %q", names) // /etc/motd is none: only people at a terminal read it
	}
	entries, head, _ := entriesOf(t, root)
	for _, name := range []string{boots, gone} {
		key := string(tasks.FileKey(name))
		if !ownership.SameEntry(before[key], entries[key]) {
			t.Errorf("the ledger says %+v of %s, want %+v", entries[key], key, before[key])
		}
	}
	if _, ours := entries[string(tasks.FileKey("/etc/new"))]; ours || head.Clean {
		t.Errorf("the removed file is still ours: %v; settled: %v", ours, head.Clean)
	}

	hostroot.Put(t, root, motd, "somebody's")
	for range 2 {
		plan, err := converge(t, root, append(slices.Clone(bad), file("/etc/more", "1"))...)
		var failed *BootFailedError
		if !errors.As(err, &failed) || !strings.Contains(said(plan), "the first boot with it failed (no way out)") {
			t.Fatalf("%v\n%s", err, said(plan))
		}
		if !changes.Prepared(plan) {
			t.Errorf("kubelet is held back by what it never had:\n%s", said(plan))
		}
		if hostroot.Read(t, root, boots) != "1" || hostroot.There(root, "/etc/new") || hostroot.Read(t, root, motd) != "2" || !hostroot.There(root, "/etc/more") {
			t.Errorf("%s is %q, %s is %q\n%s", boots, hostroot.Read(t, root, boots), motd, hostroot.Read(t, root, motd), said(plan))
		}
	}
	if plan, err := onRoot(root).DryRun(t.Context(), wanting(bad...)); plan == nil || !strings.Contains(said(plan), "no way out") {
		t.Errorf("a dry run says nothing of it: %v", err)
	}

	// The documents want one of the files no more. The agent does not know which file was bad, so
	// it makes the others.
	mustConverge(t, root, file(boots, "2"), file(motd, "2"))
	if hostroot.Read(t, root, boots) != "2" || hostroot.There(root, gone) || hostroot.There(root, "/etc/new") {
		t.Errorf("%s is %q; there are %v, %v", boots, hostroot.Read(t, root, boots), hostroot.There(root, gone), hostroot.There(root, "/etc/new"))
	}
	mustConverge(t, root, file(boots, "3"), file(gone, "1"), file(motd, "2"))
}

// While the agent cannot read what a boot failed with, or what is on trial, it makes no pass. The
// lines that keep it: failed_boots.go, failedBoots (Unread); plan.go, planSteps (Unread).
func TestWhatCannotBeReadIsNotMadeAgain(t *testing.T) {
	if !netns.Alone(t) {
		return
	}
	root := t.TempDir()
	mustConverge(t, root, file("/etc/boots", "1"))
	failsABoot(t, root, firstboot.Bad, func() { hostroot.Put(t, root, "/etc/boots", "1") }, file("/etc/boots", "2"))
	for _, name := range []string{"boots.json", "trials.json"} {
		at := root + ledger.Dir + "/" + name
		netns.Shell(t, "touch "+at+"; mount --bind /proc/self/mem "+at) // the memory of a process that has ended
		if _, err := converge(t, root, file("/etc/boots", "2"), file("/etc/more", "1")); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s: converge returns %v", name, err)
		}
		netns.Shell(t, "umount "+at)
		if hostroot.Read(t, root, "/etc/boots") != "1" || hostroot.There(root, "/etc/more") {
			t.Errorf("%s: something was made without it", name)
		}
	}
}

// Where the cause is not known, the change is made again after a pause, which gets longer each
// time. The lines that keep it: failed_boots.go, retry and failedBoots; pkg/ledger/boots.go,
// NoteBoot (Tries).
func TestWhatABootSaysNothingOfIsMadeAgain(t *testing.T) {
	root := t.TempDir()
	mustConverge(t, root, file("/etc/boots", "1"))
	failsABoot(t, root, firstboot.Unsure, func() { hostroot.Put(t, root, "/etc/boots", "1") }, file("/etc/boots", "2"))
	if _, err := converge(t, root, file("/etc/boots", "2")); err == nil || !strings.Contains(err.Error(), "the change may not be the cause") {
		t.Errorf("at once: %v", err)
	}
	files, err := host.OpenFiles(host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	list, err := ledger.ReadBoots(files)
	if err != nil || len(list) != 1 || list[0].Tries != 1 {
		t.Fatalf("ReadBoots returns %+v, %v", list, err)
	}
	for tries, want := range map[int]time.Duration{1: 30 * time.Second, 2: time.Minute, 100: time.Hour} {
		list[0].Tries = tries
		if got := (&BootFailedError{list[0]}).retry().Sub(list[0].Time); got != want {
			t.Errorf("after %d tries: %s, want %s", tries, got, want)
		}
	}

	// The boot had a wrong clock.
	list[0].Time = time.Now().Add(24 * time.Hour)
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	hostroot.Put(t, root, "/var/lib/netwright/boots.json", string(data))
	mustConverge(t, root, file("/etc/boots", "2"))
}

// The line that keeps it: take_checkpoint.go, mayReboot.
func TestARebootIsForTheDocumentsToAllow(t *testing.T) {
	for undo, want := range map[string]bool{"": false, policy.BootUndoFiles: false, policy.BootUndoReboot: true} {
		if got := mayReboot(&config.Node{Update: policy.Update{BootUndo: undo}}); got != want {
			t.Errorf("%q: mayReboot returns %v, want %v", undo, got, want)
		}
	}
}
