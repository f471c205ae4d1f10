package reconcile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/revert"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/pkg/tasks"
)

// earlier has what the agent of commit c5d410c had on the disk of a node: when all was right, when
// it died in the middle of a change under a checkpoint, and when it held a change back. It also has
// what that agent published. `go test ./test/e2e -run TestUpgradeAndDowngrade -keep DIR` writes
// these files.
const earlier = "testdata/c5d410c"

// earlierRoot returns a pass and a reader of a root with one of these states.
func earlierRoot(t *testing.T, state string) (Pass, *hostfs.Reader) {
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

// This release reads the whole ledger, the revisions and the last good copy of that release. It
// records every task as that release did, since otherwise it would make a change.
func TestTheMemoryOfAnEarlierReleaseIsRead(t *testing.T) {
	for state, generation := range map[string]int64{"right": 1, "armed": 1, "held": 4} {
		p, files := earlierRoot(t, state)
		led := ledger.Load(files)
		if led.Lost || led.Unreadable || led.Newer != nil || len(led.Damage()) > 0 {
			t.Errorf("%s: the ledger is not read: %v %q", state, led.Newer, led.Damage())
		}
		same := func(r tasks.Recorded) {
			t.Helper()
			task, err := tasks.Rebuild(r, func(sum blob.Digest) ([]byte, error) { return ledger.Blob(files, sum) })
			if err != nil {
				t.Errorf("%s: Rebuild returns %v", state, err)
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
		d, err := p.Rollout().LoadCached(t.Context(), files, good, config.Select{Node: "node-1"})
		if err != nil || d.Snapshot.Generation != generation || len(d.Node.Hooks) != 1 {
			t.Errorf("%s: the last good copy: %v", state, err)
		}
	}
}

// This release reads what it must undo, and what it must not try again.
func TestWhatAnEarlierReleaseBeganIsRead(t *testing.T) {
	_, files := earlierRoot(t, "armed")
	j, err := checkpoint.Pending(files)
	if err != nil || j == nil || len(j.Probes) == 0 || j.Net == nil || len(j.Net.Routes) == 0 || j.Digest == "" || j.Window == 0 || j.Process.PID == 0 {
		t.Fatalf("the journal is %+v: %v", j, err)
	}
	var m revert.LedgerBefore
	if err := json.Unmarshal(j.Before, &m); err != nil || len(m.Keys) == 0 || m.Fingerprint == "" || m.Network == "" {
		t.Errorf("what the ledger said before is %+v: %v", m, err)
	}
	_, files = earlierRoot(t, "held")
	trials, err := ledger.Trials(files)
	if err != nil || len(trials) != 1 || trials[0].State != ledger.ProbationSuppressed || trials[0].Why == "" || trials[0].Want == "" {
		t.Errorf("the trials are %+v: %v", trials, err)
	}
	if undone, err := ledger.ReadUndone(files); err != nil || len(undone) == 0 {
		t.Errorf("what was undone is %+v: %v", undone, err)
	}
}

func TestWhatAnEarlierReleasePublishedIsRead(t *testing.T) {
	store, err := stores.Open(filepath.Join(earlier, "published"), "e2e.example.com", stores.Options{Trust: &trust.Policy{Unsigned: true}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := desired.Load(t.Context(), store, config.Select{Node: "node-1"}, statestore.Revision{})
	if err != nil || d.Snapshot.Generation != 1 || len(d.Node.Hooks) != 1 || len(d.Node.FileAssets) != 1 || len(d.Node.PodCIDRs) != 1 {
		t.Errorf("Load returns %+v, %v", d, err)
	}
}

// An upgrade makes no revision if nothing of the host changes, though this release records more for
// a hook: how long its start may take, and that kubelet does not wait for it. A real change makes a
// revision, and what was there before is still known. The lines that keep it:
// pkg/reconcile/ownership/number_revisions.go, revise; pkg/reconcile/desired/records.go, Same;
// pkg/tasks/ledger_rebuild.go, State.
func TestAnUpgradeMakesNoRevision(t *testing.T) {
	root := t.TempDir()
	on, off := true, false
	set := func(content string, enabled *bool, more func(*tasks.UnitState)) []tasks.Task {
		meta := tasks.Meta{From: "test", Why: "hooks"}
		unit := tasks.Unit{Meta: meta, Name: "x.service", Content: []byte("[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n")}
		state := tasks.UnitState{Meta: meta, Name: "x.service", Enabled: enabled, NoBlock: true}
		more(&state)
		return []tasks.Task{file("/etc/a", content), unit, state, tasks.EffectOf(tasks.DaemonReload)}
	}
	earlier := func(*tasks.UnitState) {}
	later := func(s *tasks.UnitState) {
		s.At, s.Within, s.Requires = graph.AfterKubelet, 2*time.Minute, []graph.Key{"file:/etc/a"}
	}
	for _, c := range []struct {
		does            string
		list            []tasks.Task
		current, former int
	}{
		{"the first", set("1", &on, earlier), 1, 0},
		{"another", set("2", &on, earlier), 2, 1},
		{"the upgrade", set("2", &on, later), 2, 1},
		{"the downgrade", set("2", &on, earlier), 2, 1},
		{"the upgrade again", set("2", &on, later), 2, 1},
		{"a hook that is off", set("2", &off, later), 3, 2},
		{"a file", set("3", &off, later), 4, 3},
	} {
		mustConverge(t, root, c.list...)
		if _, head, _ := entriesOf(t, root); head.Current != c.current || head.Former != c.former || !head.Clean {
			t.Errorf("%s: the node is at %d, was at %d, settled: %v; want %d, %d", c.does, head.Current, head.Former, head.Clean, c.current, c.former)
		}
	}
}
