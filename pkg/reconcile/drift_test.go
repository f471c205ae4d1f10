package reconcile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// repairsIn returns the first key of each step that changed something, and whether that was a
// repair.
func repairsIn(p *report.Plan) map[string]bool {
	out := map[string]bool{}
	for _, s := range p.Steps {
		if s.State == report.Done || s.State == report.Planned {
			out[s.Key] = s.Repair
		}
	}
	return out
}

func entryOf(t *testing.T, root, key string) ledger.Entry {
	t.Helper()
	files, err := host.OpenFiles(host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	for k, e := range ledger.Load(files).Entries() {
		if string(k) == key {
			return e
		}
	}
	t.Fatalf("the ledger does not know %s", key)
	return ledger.Entry{}
}

// Each pass is a process of its own: it knows only what the ledger has.
func TestRepairsAreToldFromIntendedChanges(t *testing.T) {
	root := t.TempDir()
	a, b := file("/etc/a", "1"), file("/etc/b", "1")
	step := func(what string, want map[string]bool, list ...tasks.Task) {
		t.Helper()
		p := asDocumentsSay{root: root, list: list}.pass(t, true)
		got := repairsIn(p)
		delete(got, "file:/var/lib/netwright")
		if len(got) != len(want) {
			t.Fatalf("%s: changed %v, want %v", what, got, want)
		}
		sum := 0
		for key, repair := range want {
			if is, changed := got[key]; !changed || is != repair {
				t.Errorf("%s: %s changed %t, repair %t; want repair %t", what, key, changed, is, repair)
			}
			if repair {
				sum++
			}
		}
		if p.Summary.Repairs != sum {
			t.Errorf("%s: the summary counts %d repairs, want %d", what, p.Summary.Repairs, sum)
		}
	}
	step("the first pass", map[string]bool{"file:/etc/a": false, "file:/etc/b": false}, a, b)
	step("nothing", nil, a, b)

	hostroot.Put(t, root, "/etc/a", "by hand")
	step("a file was changed", map[string]bool{"file:/etc/a": true}, a, b)
	if err := os.Remove(filepath.Join(root, "/etc/a")); err != nil {
		t.Fatal(err)
	}
	step("a file was removed", map[string]bool{"file:/etc/a": true}, a, b)
	if e := entryOf(t, root, "file:/etc/a"); e.Drift == nil || e.Drift.Repairs != 2 || e.Pending || e.Again {
		t.Errorf("after two repairs the ledger has %+v, drift %+v", e, e.Drift)
	}

	// The documents want another content of b, and the same of a: only a is drift.
	b.Content = []byte("2")
	hostroot.Put(t, root, "/etc/a", "by hand")
	step("a new configuration and drift", map[string]bool{"file:/etc/a": true, "file:/etc/b": false}, a, b)

	// Somebody changed b, and then the documents want another content of it: that is no repair.
	b.Content = []byte("3")
	hostroot.Put(t, root, "/etc/b", "by hand")
	step("drift of a key that is to change", map[string]bool{"file:/etc/b": false}, a, b)

	step("no longer wanted", map[string]bool{"file:/etc/b": false}, a)
	step("wanted again", map[string]bool{"file:/etc/b": false}, a, b)
}

// What a boot removes is no drift, and does not count as a conflict when a machine boots often.
func TestABootIsNoDrift(t *testing.T) {
	root := t.TempDir()
	run, etc := file("/run/x", "1"), file("/etc/x", "1")
	boot := func(id string) {
		hostroot.Put(t, root, "/proc/sys/kernel/random/boot_id", id+"\n")
		for _, name := range []string{"/run/x", "/etc/x"} {
			if err := os.Remove(filepath.Join(root, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	for i, id := range []string{"one", "two"} {
		boot(id)
		if got := repairsIn(mustConverge(t, root, run, etc)); got["file:/run/x"] || got["file:/etc/x"] != (i > 0) {
			t.Errorf("boot %s: repairs are %v", id, got)
		}
	}
	hostroot.Put(t, root, "/run/x", "by hand")
	if got := repairsIn(mustConverge(t, root, run, etc)); !got["file:/run/x"] {
		t.Errorf("in the same boot: %v", got)
	}
	// After this boot all is right, and then somebody changes it.
	hostroot.Put(t, root, "/proc/sys/kernel/random/boot_id", "three\n")
	mustConverge(t, root, run, etc)
	hostroot.Put(t, root, "/run/x", "by hand")
	if got := repairsIn(asDocumentsSay{root: root, list: []tasks.Task{run, etc}}.pass(t, true)); !got["file:/run/x"] {
		t.Errorf("after a boot that needed nothing: %v", got)
	}
}

// A change that was interrupted says nothing about who changed the key. A change that was made and
// did not last does.
func TestAPendingChangeIsARepairOnlyIfItWasMade(t *testing.T) {
	root := t.TempDir()
	mustConverge(t, root, file("/etc/a", "1"))
	pending := func(again bool) {
		h, err := host.Open(t.Context(), host.Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		l := ledger.Load(h.Live.Files)
		e := l.Entries()["file:/etc/a"]
		e.Pending, e.Again = true, again
		if err := l.Commit(t.Context(), h.Files, ledger.Batch{Put: []ledger.Entry{e}, Head: l.Head()}); err != nil {
			t.Fatal(err)
		}
		hostroot.Put(t, root, "/etc/a", "by hand")
	}
	for _, again := range []bool{false, true} {
		pending(again)
		if got := repairsIn(mustConverge(t, root, file("/etc/a", "1"))); got["file:/etc/a"] != again {
			t.Errorf("pending, again %t: repair %t", again, got["file:/etc/a"])
		}
	}
}

// asDocumentsSay makes passes on a root with modes and times for drift from documents.
type asDocumentsSay struct {
	root  string
	drift policy.Drift
	list  []tasks.Task
}

func (a asDocumentsSay) pass(t *testing.T, afresh bool) *report.Plan {
	t.Helper()
	needs.Root(t)
	d, p := wanting(a.list...), onRoot(a.root)
	d.Node.Drift, p.ForceRepair = a.drift, afresh
	plan, err := p.Converge(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func stateOfKey(p *report.Plan, key string) report.State {
	for _, s := range p.Steps {
		if s.Key == key {
			return s.State
		}
	}
	return "right"
}

func contentOf(t *testing.T, root, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func TestDriftIsReportedOrIgnoredAsDocumentsSay(t *testing.T) {
	a := asDocumentsSay{root: t.TempDir(), drift: policy.Drift{Default: policy.Report, Keys: map[string]string{"file:/etc/b": policy.Ignore, "file:/etc/c": policy.Repair}},
		list: []tasks.Task{file("/etc/a", "1"), file("/etc/b", "1"), file("/etc/c", "1")}}
	a.pass(t, false) // the first pass applies all keys, whatever their mode
	for _, name := range []string{"/etc/a", "/etc/b", "/etc/c"} {
		if contentOf(t, a.root, name) != "1" {
			t.Fatalf("after the first pass %s is %q", name, contentOf(t, a.root, name))
		}
		hostroot.Put(t, a.root, name, "by hand")
	}
	for i := range 2 {
		p := a.pass(t, i == 1) // also for a command: the documents decide
		if x, y := stateOfKey(p, "file:/etc/a"), stateOfKey(p, "file:/etc/b"); x != report.Drifted || y != report.Ignored {
			t.Errorf("pass %d: a is %s, b is %s", i, x, y)
		}
		if contentOf(t, a.root, "/etc/a") != "by hand" || contentOf(t, a.root, "/etc/b") != "by hand" || contentOf(t, a.root, "/etc/c") != "1" {
			t.Error("a reported or ignored file was changed, or a file to repair was not")
		}
		if s := p.Summary; s.Drifted != 1 || s.Ignored != 1 || s.Right != s.Tasks-2 {
			t.Errorf("pass %d: %+v", i, s)
		}
	}
	if e := entryOf(t, a.root, "file:/etc/a"); e.Drift != nil || e.Pending {
		t.Errorf("the ledger has %+v of a key that was only reported", e)
	}
	// A new content of the documents is applied.
	a.list[0], a.list[1] = file("/etc/a", "2"), file("/etc/b", "2")
	a.pass(t, false)
	if contentOf(t, a.root, "/etc/a") != "2" || contentOf(t, a.root, "/etc/b") != "2" {
		t.Error("a new configuration was not applied")
	}
}

func TestAContestedFileIsGivenUpAndTheRestIsKept(t *testing.T) {
	below := file("/etc/below", "1")
	below.Requires = []graph.Key{"file:/etc/a"}
	a := asDocumentsSay{root: t.TempDir(), drift: policy.Drift{Contested: policy.Contested{Repairs: 2, Within: values.Duration(time.Hour)}},
		list: []tasks.Task{file("/etc/a", "1"), below, file("/etc/other", "1")}}
	a.pass(t, false)
	var p *report.Plan
	for range 4 {
		hostroot.Put(t, a.root, "/etc/a", "theirs")
		hostroot.Put(t, a.root, "/etc/other", fmt.Sprint(time.Now()))
		p = a.pass(t, false)
	}
	// The second repair waits for its time, and the third look comes before that.
	if e := entryOf(t, a.root, "file:/etc/a"); stateOfKey(p, "file:/etc/a") != report.Waits || e.Drift.Repairs != 1 || p.Again.IsZero() {
		t.Errorf("a is %s after %d repairs, next %s", stateOfKey(p, "file:/etc/a"), e.Drift.Repairs, p.Again)
	}
	// This makes its time come.
	ago(t, a.root, "file:/etc/a", 30*time.Minute)
	p = a.pass(t, false)
	if stateOfKey(p, "file:/etc/a") != report.Done || contentOf(t, a.root, "/etc/a") != "1" {
		t.Errorf("a is %s", stateOfKey(p, "file:/etc/a"))
	}
	hostroot.Put(t, a.root, "/etc/a", "theirs")
	hostroot.Put(t, a.root, "/etc/below", "by hand")
	p = a.pass(t, false)
	if stateOfKey(p, "file:/etc/a") != report.Contested || p.Summary.Contested != 1 || contentOf(t, a.root, "/etc/a") != "theirs" {
		t.Errorf("a is %s, %+v", stateOfKey(p, "file:/etc/a"), p.Summary)
	}
	if contentOf(t, a.root, "/etc/below") != "1" || stateOfKey(p, "file:/etc/below") != report.Done {
		t.Error("a file that needs the contested one was not repaired")
	}
	before := contentOf(t, a.root, "/var/lib/netwright/journal")
	if a.pass(t, false); contentOf(t, a.root, "/var/lib/netwright/journal") != before {
		t.Error("a pass that leaves a contested key writes to the ledger")
	}
	// If the contested file is absent, what needs it waits.
	if err := os.Remove(filepath.Join(a.root, "/etc/a")); err != nil {
		t.Fatal(err)
	}
	if p = a.pass(t, false); stateOfKey(p, "file:/etc/a") != report.Contested || stateOfKey(p, "file:/etc/below") != report.Waits {
		t.Errorf("a is %s, below is %s", stateOfKey(p, "file:/etc/a"), stateOfKey(p, "file:/etc/below"))
	}
	// A command ends this, and so does a document that wants another content.
	if p = a.pass(t, true); stateOfKey(p, "file:/etc/a") != report.Done {
		t.Errorf("asked by hand, a is %s", stateOfKey(p, "file:/etc/a"))
	}
	hostroot.Put(t, a.root, "/etc/a", "theirs")
	a.list[0] = file("/etc/a", "2")
	if p = a.pass(t, false); stateOfKey(p, "file:/etc/a") != report.Done || entryOf(t, a.root, "file:/etc/a").Drift != nil {
		t.Errorf("with another content, a is %s", stateOfKey(p, "file:/etc/a"))
	}
}

// ago makes the ledger say that a key was repaired this much earlier.
func ago(t *testing.T, root, key string, by time.Duration) {
	t.Helper()
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	l := ledger.Load(h.Live.Files)
	e := l.Entries()[graph.Key(key)]
	for i := range e.Drift.Recent {
		e.Drift.Recent[i] = e.Drift.Recent[i].Add(-by)
	}
	if err := l.Commit(t.Context(), h.Files, ledger.Batch{Put: []ledger.Entry{e}, Head: l.Head()}); err != nil {
		t.Fatal(err)
	}
}
