package reconcile

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/test/hostroot"
)

// What cannot be removed waits for a person, and the agent says what to do. Everything else is
// removed and changed, and READY is said. That file stays ours, with its directory, and is removed
// when that is possible. A reset ends with an error, and keeps what a second reset needs. The lines
// that keep it: pkg/tasks/removal.go, Plan and UnremovableError; pkg/host/hostfs/writable.go,
// Removable; pkg/reset/phases.go, unremovable.
func TestWhatCannotBeRemovedWaitsAlone(t *testing.T) {
	root := t.TempDir()
	stuck := filepath.Join(root, "etc/lab/stuck")
	mustConverge(t, root, file("/etc/lab/stuck", "1"), file("/etc/lab/goes", "1"), file("/etc/goes", "1"), file("/etc/stays", "1"))
	for name, hold := range map[string]func(bool){
		"the file is immutable":      func(on bool) { hostroot.MakeImmutable(t, stuck, on) },
		"its directory is immutable": func(on bool) { hostroot.MakeImmutable(t, filepath.Dir(stuck), on) },
	} {
		hold(true)
		t.Cleanup(func() { hold(false) })
		for _, dry := range []bool{true, false, false} {
			do := onRoot(root).Converge
			if dry {
				do = onRoot(root).DryRun
			}
			p, err := do(t.Context(), wanting(file("/etc/stays", "2")))
			if err != nil || !dry && !changes.Prepared(p) {
				t.Fatalf("%s: it failed: %v\n%s", name, err, said(p))
			}
			if !strings.Contains(said(p), "file:/etc/lab/stuck waiting: file:/etc/lab/stuck to be removable") || !strings.Contains(said(p), "chattr -i") {
				t.Errorf("%s: it does not say what to do:\n%s", name, said(p))
			}
		}
		if hostroot.There(root, "/etc/goes") || hostroot.Read(t, root, "/etc/stays") != "2" || !hostroot.There(root, "/etc/lab/stuck") {
			t.Errorf("%s: it held up the rest", name)
		}
		entries, _, _ := entriesOf(t, root)
		for _, key := range []string{"file:/etc/lab/stuck", "file:/etc/lab"} {
			if e, known := entries[key]; !known || e.Released || e.Pending {
				t.Errorf("%s: the ledger says of %s: %+v", name, key, e)
			}
		}
		hold(false)
	}
	if p := mustConverge(t, root, file("/etc/stays", "2")); hostroot.There(root, "/etc/lab") || p.Summary.Waiting > 0 {
		t.Errorf("the file is not removed when that is possible:\n%s", said(p))
	}

	mustConverge(t, root, file("/etc/lab/stuck", "1"), file("/etc/stays", "2"))
	hostroot.MakeImmutable(t, stuck, true)
	t.Cleanup(func() { hostroot.MakeImmutable(t, stuck, false) })
	if p, err := resetOf(onRoot(root)).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "chattr -i") || hostroot.There(root, "/etc/stays") || !hostroot.There(root, "/var/lib/netwright/journal") {
		t.Errorf("a reset that leaves it: %v\n%s", err, said(p))
	}
	hostroot.MakeImmutable(t, stuck, false)
	if p, err := resetOf(onRoot(root)).Run(t.Context()); err != nil || hostroot.There(root, "/etc/lab") || hostroot.There(root, "/var/lib/netwright") {
		t.Errorf("a reset when it can go: %v\n%s", err, said(p))
	}
}
