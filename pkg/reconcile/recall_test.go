package reconcile

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/netns"
)

// The last change that needed a proof says by what it was proved. Its revision keeps that, also for
// a change that somebody confirmed. A harmless change and an undo leave it as it is. The lines that
// keep it: pkg/reconcile/history/recall.go; pkg/reconcile/ownership/commit.go, Commit
// (Proof); pkg/reconcile/ownership/number_revisions.go; await_confirmation.go, await; confirm.go,
// Confirm; pkg/checkpoint/probe/comparison.go, Before (MissingProofs).
func TestTheProofOfAChangeIsKept(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	const uplink = `ip netns add out; ip link add up0 type veth peer name up1 netns out
ip -n out addr add 10.0.0.1/24 dev up1; ip -n out link set up1 up; ip link set up0 up; mkdir -p /etc/systemd/system
ip addr add 10.0.0.2/24 dev up0; ip route add default via 10.0.0.1`
	if out, err := exec.Command("/bin/sh", "-ec", uplink).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pass := Pass{
		Host: host.Options{Root: "/", Facts: &host.Facts{Init: "systemd"}}, Log: zap.NewNop(),
		Checkpoint: checkpoint.Settings{Window: time.Second, Probes: []probe.Probe{"neighbour:up0/10.0.0.1", "dns:10.0.0.1"}},
	}
	proved := func(p Pass, generation int64, content, harmless string, want *report.Proof) {
		t.Helper()
		d := wanting(file("/etc/a", content), file("/etc/motd", harmless))
		d.Snapshot.Generation, d.Snapshot.Digest = generation, content+harmless
		plan, err := p.Converge(t.Context(), d)
		if err != nil {
			t.Fatalf("%v\n%s", err, said(plan))
		}
		if plan.Proof.At.IsZero() {
			t.Error("the proof has no time")
		}
		plan.Proof.At = time.Time{}
		if diff := cmp.Diff(want, plan.Proof); diff != "" {
			t.Errorf("generation %d (-want +got):\n%s", generation, diff)
		}
	}
	by := func(generation int64) *report.Proof {
		return &report.Proof{Generation: generation, By: []string{"neighbour"}, Missing: []string{"dns", "inbound", "pods"}}
	}
	led, err := pass.Session().LoadLedger()
	plan := &report.Plan{}
	files, failed := host.OpenFiles(host.Options{Root: "/"})
	if failed != nil {
		t.Fatal(failed)
	}
	defer files.Close() // only read from
	history.Recall(plan, files, led)
	if diff := cmp.Diff(&report.Proof{Missing: []string{"inbound", "pods"}}, plan.Proof); diff != "" || err != nil {
		t.Errorf("before any change: %v\n%s", err, diff)
	}
	asked := pass
	asked.ConfirmWithin, asked.TakeNow = time.Hour, "ada"
	proved(pass, 1, "1", "1", by(1))
	proved(pass, 2, "1", "2", by(1)) // harmless
	proved(asked, 3, "2", "2", by(1))
	if _, err := pass.Session().Undo(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	proved(asked, 4, "2", "2", by(1))
	if _, err := pass.Confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	proved(pass, 4, "2", "2", by(4))
	h, err := history.Read(pass.Host)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, r := range h.Revisions {
		kept = append(kept, strings.Join(append(slices.Clone(r.Proofs), r.MissingProofs...), " "))
	}
	const full = "neighbour:up0/10.0.0.1 dns inbound pods"
	if want := []string{full, "", full}; !slices.Equal(kept, want) {
		t.Errorf("the revisions have %q, want %q", kept, want)
	}
}

// The history knows the cause of the last undo, whoever made it. A boot that succeeded and the
// first boot of an image undid nothing. The lines that keep it: pkg/reconcile/history/recall.go,
// LastUndone.
func TestWhatWasTakenBackIsKnown(t *testing.T) {
	root := t.TempDir()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	hostroot.Keep(t, root, "undone.json", []ledger.Undone{
		{Time: at, Generation: 1, Digest: "a", Why: "long ago"}, {Time: at.Add(2 * time.Hour), Generation: 2, Digest: "b", Why: "no answer"},
		{Time: at.Add(time.Hour), Generation: 3, Digest: "c", Why: "nobody confirmed it", Unconfirmed: true},
	})
	hostroot.Keep(t, root, "boots.json", []ledger.Boot{
		{ID: "1", Time: at.Add(3 * time.Hour), Generation: 4, Names: []string{"/etc/a"}, Outcome: string(firstboot.Bad), Why: "no address"},
		{ID: "2", Time: at.Add(4 * time.Hour), Generation: 5, Names: []string{"/etc/a"}, Outcome: string(firstboot.Confirmed)},
		{ID: "3", Time: at.Add(5 * time.Hour), Outcome: string(firstboot.Unsure), Why: "a gateway does not answer"},
	})
	want := []report.Undone{
		{At: at.Add(3 * time.Hour), Cause: report.UndoneBoot, Generation: 4, Why: "no address"},
		{At: at.Add(2 * time.Hour), Cause: report.UndoneFailed, Generation: 2, Digest: "b", Why: "no answer"},
		{At: at.Add(time.Hour), Cause: report.UndoneUnconfirmed, Generation: 3, Digest: "c", Why: "nobody confirmed it"},
	}
	got := history.LastUndone(rootFiles{root})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the undone changes (-want +got):\n%s", diff)
	}
	plan := &report.Plan{Undone: got}
	for last, want := range map[time.Time]time.Time{at: want[0].At, want[0].At.Add(-1): want[0].At, want[0].At: {}} {
		if got := plan.UndoneAfter(last); !got.Equal(want) {
			t.Errorf("after %s: %s, want %s", last, got, want)
		}
	}
	if got := (&report.Plan{Undone: got[2:]}).UndoneAfter(at); !got.IsZero() {
		t.Errorf("an unconfirmed change counts as failed: %s", got)
	}
}

type rootFiles struct{ root string }

func (r rootFiles) ReadDir(path string) ([]string, error) { return nil, fs.ErrNotExist }

func (r rootFiles) ReadFile(path string) ([]byte, error) {
	return os.ReadFile(filepath.Join(r.root, path))
}
