package agent

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// repairs are the first keys of the steps that changed something, with whether that was a repair.
func repairs(p *report.Plan) map[string]bool {
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

// Each pass is a process of its own: what it knows, it has from the ledger.
func TestRepairsAreToldFromIntendedChanges(t *testing.T) {
	root := t.TempDir()
	a, b := file("/etc/a", "1"), file("/etc/b", "1")
	step := func(what string, want map[string]bool, list ...tasks.Task) {
		t.Helper()
		p := mustConverge(t, root, list...)
		got := repairs(p)
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

	put(t, root, "/etc/a", "by hand")
	step("a file was changed", map[string]bool{"file:/etc/a": true}, a, b)
	if err := os.Remove(filepath.Join(root, "/etc/a")); err != nil {
		t.Fatal(err)
	}
	step("a file was removed", map[string]bool{"file:/etc/a": true}, a, b)
	if e := entryOf(t, root, "file:/etc/a"); e.Drift == nil || e.Drift.Repairs != 2 || e.Pending || e.Again {
		t.Errorf("after two repairs the ledger has %+v, drift %+v", e, e.Drift)
	}

	// What is wanted of b is another thing; what is wanted of a is not, and a is drift all the same.
	b.Content = []byte("2")
	put(t, root, "/etc/a", "by hand")
	step("a new configuration and drift", map[string]bool{"file:/etc/a": true, "file:/etc/b": false}, a, b)

	// Somebody changed b, and then something else is wanted of it: whoever asks for that did not mean to repair.
	b.Content = []byte("3")
	put(t, root, "/etc/b", "by hand")
	step("drift of a key that is to change", map[string]bool{"file:/etc/b": false}, a, b)

	step("no longer wanted", map[string]bool{"file:/etc/b": false}, a)
	step("wanted again", map[string]bool{"file:/etc/b": false}, a, b)
}

// What goes with a boot is not what somebody took away, and does not count as a quarrel when a machine boots again and again.
func TestABootIsNoDrift(t *testing.T) {
	root := t.TempDir()
	run, etc := file("/run/x", "1"), file("/etc/x", "1")
	boot := func(id string) {
		put(t, root, "/proc/sys/kernel/random/boot_id", id+"\n")
		for _, name := range []string{"/run/x", "/etc/x"} {
			if err := os.Remove(filepath.Join(root, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	for i, id := range []string{"one", "two"} {
		boot(id)
		if got := repairs(mustConverge(t, root, run, etc)); got["file:/run/x"] || got["file:/etc/x"] != (i > 0) {
			t.Errorf("boot %s: repairs are %v", id, got)
		}
	}
	put(t, root, "/run/x", "by hand")
	if got := repairs(mustConverge(t, root, run, etc)); !got["file:/run/x"] {
		t.Errorf("in the same boot: %v", got)
	}
	// A boot after which all is right, and then somebody changes it.
	put(t, root, "/proc/sys/kernel/random/boot_id", "three\n")
	mustConverge(t, root, run, etc)
	put(t, root, "/run/x", "by hand")
	if got := repairs(mustConverge(t, root, run, etc)); !got["file:/run/x"] {
		t.Errorf("after a boot that needed nothing: %v", got)
	}
}

// A change that is interrupted says nothing of who changed the key; one that was made and did not last does.
func TestAPendingChangeIsARepairOnlyIfItWasMade(t *testing.T) {
	root := t.TempDir()
	mustConverge(t, root, file("/etc/a", "1"))
	pending := func(again bool) {
		h, err := host.Open(t.Context(), host.Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		l := ledger.Load(h)
		e := l.Entries()["file:/etc/a"]
		e.Pending, e.Again = true, again
		if err := l.Commit(t.Context(), h, ledger.Batch{Put: []ledger.Entry{e}, Head: l.Head()}); err != nil {
			t.Fatal(err)
		}
		put(t, root, "/etc/a", "by hand")
	}
	for _, again := range []bool{false, true} {
		pending(again)
		if got := repairs(mustConverge(t, root, file("/etc/a", "1"))); got["file:/etc/a"] != again {
			t.Errorf("pending, again %t: repair %t", again, got["file:/etc/a"])
		}
	}
}
