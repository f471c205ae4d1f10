package reconcile

import (
	"os"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/drift"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
)

// classOf returns the class of the one step that a dry run plans.
func classOf(t *testing.T, root string, want tasks.Task) string {
	t.Helper()
	p, err := onRoot(root).DryRun(t.Context(), wanting(want))
	if err != nil {
		t.Fatal(err)
	}
	key := string(want.Owns()[0])
	for _, s := range p.Steps {
		if s.Key == key && s.State == report.Planned {
			return s.Class
		}
	}
	t.Fatalf("%s is not planned: %+v", key, p.Steps)
	return ""
}

// A change that restores what the node had, and with which it still worked, needs no checkpoint. A
// change to a new state needs one. The line that keeps it: pkg/reconcile/drift/prove_changes.go,
// recordedRight.
func TestWhatWasProvedBefore(t *testing.T) {
	root := t.TempDir()
	if got := classOf(t, root, file("/etc/hosts", "1")); got != "reload" {
		t.Errorf("a file that somebody may read: %s", got)
	}
	if got := classOf(t, root, file("/etc/motd", "1")); got != "live" {
		t.Errorf("a file that nobody reads: %s", got)
	}
	mustConverge(t, root, file("/etc/hosts", "1"))
	if err := os.WriteFile(root+"/etc/hosts", []byte("by hand"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := classOf(t, root, file("/etc/hosts", "1")); got != "live" {
		t.Errorf("what was right before: %s", got)
	}
	if got := classOf(t, root, file("/etc/hosts", "2")); got != "reload" {
		t.Errorf("what is new: %s", got)
	}
	if err := os.Remove(root + "/etc/hosts"); err != nil {
		t.Fatal(err)
	}
	if got := classOf(t, root, file("/etc/hosts", "1")); got != "live" {
		t.Errorf("what was right before, and went: %s", got)
	}
}

// A change was made, and was gone when the agent looked again: so it was never right. To make it
// again is a repair, and needs its checkpoint. The lines that keep it:
// pkg/reconcile/ownership/failed_changes.go, Undid; pkg/reconcile/drift/drift.go, Mark.
func TestWhatWasNeverRightIsNotProved(t *testing.T) {
	root, hosts := t.TempDir(), file("/etc/hosts", "1")
	mustConverge(t, root, hosts)
	for _, c := range []struct {
		repair bool
		class  string
	}{{true, "live"}, {false, "reload"}, {true, "reload"}} { // the last one repairs what was never right
		h, err := host.Open(t.Context(), host.Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		led := ledger.Load(h.Live.Files)
		custody := &ownership.Transaction{Led: led, Judge: drift.New(&desired.Records{}, led, h.Live.View(), wanting(), false, time.Now())}
		e := led.Entries()["file:/etc/hosts"]
		if c.repair {
			custody.Judge.Repairs().Put(e.Key, &ledger.Drift{Repairs: 1}, nil)
		}
		custody.Judge.Mark(&e)
		e.Pending = true
		if err := led.Commit(t.Context(), h.Files, ledger.Batch{Put: []ledger.Entry{e}, Head: led.Head()}); err != nil {
			t.Fatal(err)
		}
		b := ledger.Batch{Head: led.Head()}
		custody.Undid(&tasks.Result{Node: hosts, Key: e.Key, State: graph.Failed, Err: &changes.NotConvergedError{Key: e.Key}}, &b)
		if err := led.Commit(t.Context(), h.Files, b); err != nil {
			t.Fatal(err)
		}
		h.Close() // all is committed
		hostroot.Put(t, root, "/etc/hosts", "theirs")
		if got := classOf(t, root, hosts); got != c.class {
			t.Errorf("repair %v: %s, want %s", c.repair, got, c.class)
		}
	}
	mustConverge(t, root, hosts)
	if e := entryOf(t, root, "file:/etc/hosts"); e.Pending || e.Untried {
		t.Errorf("it was right since: %+v", e)
	}
}
