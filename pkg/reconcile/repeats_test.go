package reconcile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// A pass that restores what the ledger has as right writes nothing before the change, since the
// ledger already has all of it. A kill then loses only the count. What the ledger does not have is
// written before the change. The lines that keep it:
// pkg/reconcile/ownership/intend.go, Intend and noted.
func TestARepairIsWrittenDownOnce(t *testing.T) {
	needs.Root(t) // files belong to root
	found, ours := file("/etc/found", "1"), file("/etc/ours", "1")
	for what, c := range map[string]struct {
		spoil string
		want  []tasks.Task
		first bool   // the pass writes before the change
		lacks string // a line that the journal does not have
	}{
		"ours":                                   {"/etc/ours", []tasks.Task{found, ours}, false, ""},
		"its baseline is not known":              {"/etc/found", []tasks.Task{found, ours}, true, ""},
		"beside what is new":                     {"/etc/ours", []tasks.Task{found, ours, file("/etc/new", "1")}, true, ""},
		"the time of its directory is not known": {"/etc/ours", []tasks.Task{found, ours}, true, `d {"path":"/etc",`},
	} {
		t.Run(what, func(t *testing.T) {
			root := t.TempDir()
			hostroot.Put(t, root, "/etc/found", "1")
			hostroot.Put(t, root, "/var/lib/theirs", "")
			mustConverge(t, root, found, ours)
			hostroot.Put(t, root, c.spoil, "theirs")
			lines := slices.DeleteFunc(strings.SplitAfter(contentOf(t, root, ledger.JournalFile), "\n"),
				func(line string) bool { return c.lacks != "" && strings.Contains(line, c.lacks) })
			hostroot.Put(t, root, ledger.JournalFile, strings.Join(lines, ""))
			before := contentOf(t, root, ledger.JournalFile)
			die(t, root, c.want, true)
			if written := contentOf(t, root, ledger.JournalFile) != before; written != c.first {
				t.Fatalf("something is written before the change: %t, want %t", written, c.first)
			}
			if c.first {
				return
			}
			die(t, root, c.want, false)
			if p := mustConverge(t, root, c.want...); p.Summary.Changes() > 0 || contentOf(t, root, c.spoil) != "1" {
				t.Errorf("after the kill it is %q, and the next pass has:\n%s", contentOf(t, root, c.spoil), said(p))
			}
			if e := entryOf(t, root, "file:"+c.spoil); e.Pending || e.Drift != nil {
				t.Errorf("the ledger has %+v", e)
			}
			if mustConverge(t, root); hostroot.There(root, "/etc/ours") {
				t.Error("a file that was ours before the kill is not ours now")
			}
		})
	}
}

// A repair is made although the ledger's disk has no room for its record. The error is the one of a
// pass that could write nothing, so the daemon tries to write again with the next one. The lines
// that keep it: carry_out.go, end (Repeats).
func TestARepairWithoutRoomForItsRecord(t *testing.T) {
	root := t.TempDir()
	hostroot.Put(t, root, "/var/lib/theirs", "")
	mustConverge(t, root, file("/etc/a", "1"))
	hostroot.Put(t, root, "/etc/a", "theirs")
	hostroot.Seal(t, root, true)
	t.Cleanup(func() { hostroot.Seal(t, root, false) })
	_, err := converge(t, root, file("/etc/a", "1"))
	var unwritten *UnwrittenError
	if !errors.As(err, &unwritten) || contentOf(t, root, "/etc/a") != "1" {
		t.Errorf("it is %q, and the error is %v", contentOf(t, root, "/etc/a"), err)
	}
}

// A repair that failed counts as a repair. Its entry stays pending in the ledger, although no other
// record came after it. The lines that keep it: pkg/reconcile/session/session.go, Holding (Flush).
func TestARepairThatFailedIsWrittenDown(t *testing.T) {
	root := t.TempDir()
	hostroot.Put(t, root, "/var/lib/theirs", "")
	mustConverge(t, root, file("/etc/a", "1"))
	hostroot.Put(t, root, "/etc/a", "theirs")
	p := onRoot(root)
	p.Hooks.OnStart = func(graph.Key) {
		if err := errors.Join(os.Remove(filepath.Join(root, "/etc/a")), os.Mkdir(filepath.Join(root, "/etc/a"), 0o755)); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Converge(t.Context(), wanting(file("/etc/a", "1"))); err == nil {
		t.Fatal("a file replaces a directory")
	}
	if e := entryOf(t, root, "file:/etc/a"); !e.Pending || e.Drift == nil || e.Drift.Repairs != 1 {
		t.Errorf("the ledger has %+v", e)
	}
}
