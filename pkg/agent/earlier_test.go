package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/pkg/tasks"
)

// What the agent of commit c5d410c had on a node's disk: all was right, it died in the middle of a
// change under a checkpoint, it held a change back; and what it had published. It is written by
// `go test ./test/e2e -run TestUpgradeAndDowngrade -keep DIR`.
const earlier = "testdata/c5d410c"

// earlierRoot is a root with a state of it.
func earlierRoot(t *testing.T, state string) (Pass, host.FileReader) {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, ledger.Dir), os.DirFS(filepath.Join(earlier, state))); err != nil {
		t.Fatal(err)
	}
	p := onRoot(root)
	p.Trust = &trust.Policy{Unsigned: true}
	files, err := host.OpenFiles(p.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	return p, files
}

// The ledger, the revisions and the last good copy are read whole, and every task of theirs is
// recorded again as it was: another set would be a change.
func TestTheMemoryOfAnEarlierReleaseIsRead(t *testing.T) {
	for state, generation := range map[string]int64{"right": 1, "armed": 1, "held": 4} {
		p, files := earlierRoot(t, state)
		led := ledger.Load(files)
		if led.Lost || led.Unreadable || led.Newer != nil || len(led.Damage()) > 0 {
			t.Errorf("%s: the ledger is not read: %v %q", state, led.Newer, led.Damage())
		}
		same := func(r tasks.Recorded) {
			t.Helper()
			task, err := tasks.Rebuild(r, func(sum host.Digest) ([]byte, error) { return ledger.Blob(files, sum) })
			if err != nil {
				t.Errorf("%s: %v", state, err)
				return
			}
			if again, _, err := tasks.Record(task); err != nil || !again.Same(r) {
				t.Errorf("%s: %s is recorded as %+v, and was %+v (%v)", state, task.Owns()[0], again, r, err)
			}
		}
		if len(led.Entries()) < 30 {
			t.Errorf("%s: only %d entries", state, len(led.Entries()))
		}
		for _, e := range led.Entries() {
			if e.Task != nil {
				same(*e.Task)
			}
		}
		revisions, err := ledger.Revisions(files)
		if err != nil || len(revisions) == 0 || led.Head().Current == 0 {
			t.Errorf("%s: %d revisions, at %d: %v", state, len(revisions), led.Head().Current, err)
		}
		for _, r := range revisions {
			for _, task := range r.Tasks {
				same(task)
			}
		}
		good, err := ledger.ReadLastGood(files)
		if good == nil || err != nil {
			t.Fatalf("%s: no last good copy: %v", state, err)
		}
		d, err := p.kept(t.Context(), files, good, config.Select{Node: "node-1"})
		if err != nil || d.Snapshot.Generation != generation || len(d.Node.Hooks) != 1 {
			t.Errorf("%s: the last good copy: %v", state, err)
		}
	}
}

// What has to be taken back, and what is not to be tried again, is read.
func TestWhatAnEarlierReleaseBeganIsRead(t *testing.T) {
	_, files := earlierRoot(t, "armed")
	j, err := checkpoint.Pending(files)
	if err != nil || j == nil || len(j.Probes) == 0 || j.Net == nil || len(j.Net.Routes) == 0 || j.Digest == "" || j.Window == 0 || j.Process.PID == 0 {
		t.Fatalf("the journal is %+v: %v", j, err)
	}
	var m memory
	if err := json.Unmarshal(j.Memory, &m); err != nil || len(m.Keys) == 0 || m.Print == "" || m.Network == "" {
		t.Errorf("what the ledger said before is %+v: %v", m, err)
	}
	_, files = earlierRoot(t, "held")
	trials, err := ledger.Trials(files)
	if err != nil || len(trials) != 1 || trials[0].State != ledger.TrialHeld || trials[0].Why == "" || trials[0].Want == "" {
		t.Errorf("the trials are %+v: %v", trials, err)
	}
	if undone, err := ledger.ReadUndone(files); err != nil || len(undone) == 0 {
		t.Errorf("what was undone is %+v: %v", undone, err)
	}
}

func TestWhatAnEarlierReleasePublishedIsRead(t *testing.T) {
	store, err := statestore.Open(filepath.Join(earlier, "published"), "e2e.example.com", statestore.Options{Trust: &trust.Policy{Unsigned: true}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := Load(t.Context(), store, config.Select{Node: "node-1"}, statestore.Revision{})
	if err != nil || d.Snapshot.Generation != 1 || len(d.Node.Hooks) != 1 || len(d.Node.FileAssets) != 1 || len(d.Node.PodCIDRs) != 1 {
		t.Errorf("%+v: %v", d, err)
	}
}
