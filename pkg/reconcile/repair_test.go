package reconcile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// stands makes a pass on a root, and returns what the pass left.
func stands(t testing.TB, root string, d *desired.State, before *Converged) *Converged {
	t.Helper()
	needs.Root(t) // files belong to root
	var s *Converged
	p := onRoot(root)
	p.Before, p.OnConverged = before.Ledger(), func(left *Converged) { s = left }
	if _, err := p.Converge(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return s
}

// repair repairs the keys that an event may name.
func repair(t testing.TB, root string, s *Converged, keys ...graph.Key) ([]report.Step, error) {
	t.Helper()
	nothing := func() ([]tasks.Task, error) { return nil, nil }
	return s.Repair(t.Context(), onRoot(root), ownersOf(t, s, keys...), nothing)
}

func ownersOf(t testing.TB, s *Converged, keys ...graph.Key) (owners []tasks.Task) {
	t.Helper()
	for _, key := range keys {
		owner, known := s.graph.Find(key)
		if !known {
			t.Fatalf("nobody owns %s", key)
		}
		owners = append(owners, owner)
	}
	return owners
}

// The agent waits for the rest of a change. What changes meanwhile is repaired with the first key.
// If the change is more than repairs are for, nothing is repaired. The lines that keep it:
// repair.go, Repair (rest).
func TestARepairHearsTheRestOfAChange(t *testing.T) {
	root := t.TempDir()
	s := stands(t, root, wanting(file("/etc/a", "1"), file("/etc/b", "1"), file("/etc/c", "1")), nil)
	broken := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	broken("a", "theirs")
	steps, err := s.Repair(t.Context(), onRoot(root), ownersOf(t, s, "file:/etc/a"), func() ([]tasks.Task, error) {
		broken("b", "theirs, too")
		return ownersOf(t, s, "file:/etc/b"), nil
	})
	if err != nil || len(steps) != 2 {
		t.Errorf("%d steps, %v: %+v", len(steps), err, steps)
	}
	for _, name := range []string{"a", "b"} {
		if is, err := os.ReadFile(filepath.Join(root, "etc", name)); err != nil || string(is) != "1" {
			t.Errorf("/etc/%s is %q, %v", name, is, err)
		}
	}

	broken("c", "theirs")
	much := errors.New("more than that")
	steps, err = s.Repair(t.Context(), onRoot(root), ownersOf(t, s, "file:/etc/c"), func() ([]tasks.Task, error) { return nil, much })
	if is, _ := os.ReadFile(filepath.Join(root, "etc/c")); !errors.Is(err, much) || len(steps) > 0 || string(is) != "theirs" {
		t.Errorf("%d steps, %v, and /etc/c is %q", len(steps), err, is)
	}
}

// A repair is of one key, and adds one record to the journal. It does not look at other keys. The
// files of a directory are restored with it.
func TestARepairIsOfOneKey(t *testing.T) {
	root := t.TempDir()
	dir := tasks.Directory{Meta: tasks.Meta{From: "test"}, Path: "/srv/d", Mode: 0o755}
	d := wanting(file("/etc/a", "1"), file("/etc/b", "1"), dir, file("/srv/d/c", "1"))
	s := stands(t, root, d, nil)
	if s == nil {
		t.Fatal("a pass that made everything right leaves nothing to stand on")
	}
	hostroot.Put(t, root, "/etc/a", "theirs")
	hostroot.Put(t, root, "/etc/b", "theirs")
	before := contentOf(t, root, ledger.JournalFile)
	steps, err := repair(t, root, s, "file:/etc/a")
	if err != nil || len(steps) != 1 || !steps[0].Repair || steps[0].Key != "file:/etc/a" {
		t.Fatalf("repair returns %+v, %v", steps, err)
	}
	if contentOf(t, root, "/etc/a") != "1" || contentOf(t, root, "/etc/b") != "theirs" {
		t.Errorf("a is %q, b is %q", contentOf(t, root, "/etc/a"), contentOf(t, root, "/etc/b"))
	}
	added, grown := strings.CutPrefix(contentOf(t, root, ledger.JournalFile), before)
	if n := strings.Count(added, "\n"); !grown || n != 2 {
		t.Errorf("the journal has %d lines more, want the entry and the head:\n%s", n, added)
	}
	if e := entryOf(t, root, "file:/etc/a"); e.Pending || e.Again || e.Drift == nil || e.Drift.Repairs != 1 {
		t.Errorf("the ledger has %+v", e)
	}
	if steps, err := repair(t, root, s, "file:/etc/a"); err != nil || len(steps) > 0 {
		t.Errorf("what is right: %+v, %v", steps, err)
	}
	if err := os.RemoveAll(filepath.Join(root, "/srv/d")); err != nil {
		t.Fatal(err)
	}
	if steps, err := repair(t, root, s, "file:/srv/d"); err != nil || len(steps) != 2 || contentOf(t, root, "/srv/d/c") != "1" {
		t.Errorf("a directory: %+v, %v", steps, err)
	}
	if got := repairsIn(mustConverge(t, root, d.Pinned.Recorded...)); !got["file:/etc/b"] || len(got) != 1 {
		t.Errorf("the pass after it: %v", got)
	}
}

// A repair leaves what needs a pass as it is.
func TestWhatARepairLeavesToAPass(t *testing.T) {
	list := []tasks.Task{file("/etc/a", "1"), file("/etc/found", "1")}
	for _, c := range []struct {
		what string
		key  graph.Key
		do   func(t *testing.T, root string, d *desired.State)
		want error
	}{
		{what: "nothing is in the way", key: "file:/etc/a", do: func(*testing.T, string, *desired.State) {}},
		{"the node is paused", "file:/etc/a", func(t *testing.T, root string, _ *desired.State) {
			if _, err := onRoot(root).Session().Pause(t.Context(), time.Hour, "a test"); err != nil {
				t.Fatal(err)
			}
		}, &WholeError{}},
		{"another process made a pass", "file:/etc/a", func(t *testing.T, root string, _ *desired.State) {
			mustConverge(t, root, file("/etc/a", "2"), file("/etc/found", "1"))
		}, session.ErrStale},
		{"another process has the lock", "file:/etc/a", func(t *testing.T, root string, _ *desired.State) {
			f, err := os.OpenFile(filepath.Join(root, ledger.LockFile), os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Close() })
			// The lock belongs to the open file and not to the process, so it also keeps this
			// process out.
			if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
				t.Fatal(err)
			}
		}, nil},
		{"the documents leave the kind to other programs", "file:/etc/a", func(_ *testing.T, _ string, d *desired.State) {
			d.Node.Drift = policy.Drift{Default: policy.Report}
		}, &WholeError{}},
		{"the state before the agent is not known", "file:/etc/found", func(*testing.T, string, *desired.State) {}, &WholeError{}},
		{"an effect is pending", "file:/etc/a", func(t *testing.T, root string, _ *desired.State) {
			hostroot.Put(t, root, "/var/lib/netwright/owed.json", `{"effect:reload/x.service": {"by": ["file:/etc/a"]}}`)
		}, session.ErrStale},
	} {
		t.Run(c.what, func(t *testing.T) {
			root, d := t.TempDir(), wanting(list...)
			hostroot.Put(t, root, "/etc/found", "1")
			s := stands(t, root, d, nil)
			c.do(t, root, d)
			name := c.key.Name()
			hostroot.Put(t, root, name, "theirs")
			before := contentOf(t, root, ledger.JournalFile)
			_, err := repair(t, root, s, c.key)
			if c.what == "nothing is in the way" {
				if err != nil || contentOf(t, root, name) != "1" {
					t.Fatalf("%v, it is %q", err, contentOf(t, root, name))
				}
				return
			}
			var takesPass *WholeError
			_, byPass := c.want.(*WholeError)
			if err == nil || byPass && !errors.As(err, &takesPass) || c.want != nil && !byPass && !errors.Is(err, c.want) {
				t.Errorf("it ends with %v, want %v", err, c.want)
			}
			if contentOf(t, root, name) != "theirs" || contentOf(t, root, ledger.JournalFile) != before {
				t.Error("the repair was made, or the journal changed")
			}
		})
	}
}

// A repair without a pass counts like a repair in a pass, and has the same pauses. After a long
// conflict the ledger has the same of both, and the files are the same.
func TestARepairCountsAsOneOfAPass(t *testing.T) {
	by, without := t.TempDir(), t.TempDir()
	d := wanting(file("/etc/a", "1"), file("/etc/b", "1"))
	s := stands(t, by, d, nil)
	stands(t, without, d, nil)
	direct := 0
	for i, pause := range []time.Duration{
		0, time.Second, 3 * time.Second, 5 * time.Second, 10 * time.Second, time.Minute, 3 * time.Minute, time.Second, 90 * time.Minute, 3 * time.Hour,
		time.Second, 5 * time.Hour, 48 * time.Hour, 0,
	} {
		if pause > 0 {
			hostroot.Put(t, by, "/etc/a", "1") // the other way makes it, so no pass comes between repairs
			hostroot.Put(t, without, "/etc/a", "1")
			ago(t, by, "file:/etc/a", pause)
			ago(t, without, "file:/etc/a", pause)
			s = stands(t, by, d, s)
			stands(t, without, d, nil)
		}
		hostroot.Put(t, by, "/etc/a", "theirs")
		hostroot.Put(t, without, "/etc/a", "theirs")
		if s != nil {
			steps, err := repair(t, by, s, "file:/etc/a")
			if direct += len(steps); err != nil && len(steps) > 0 {
				t.Errorf("%d: %v after a repair", i, err)
			}
		}
		s = stands(t, by, d, s)
		stands(t, without, d, nil)
		x, y := entryOf(t, by, "file:/etc/a").Drift, entryOf(t, without, "file:/etc/a").Drift
		if x.Repairs != y.Repairs || x.Trials != y.Trials || len(x.Recent) != len(y.Recent) || contentOf(t, by, "/etc/a") != contentOf(t, without, "/etc/a") {
			t.Errorf("%d, %s later: with repairs %+v and %q, without %+v and %q", i, pause, x, contentOf(t, by, "/etc/a"), y, contentOf(t, without, "/etc/a"))
		}
	}
	if direct < 7 {
		t.Errorf("%d repairs were made without a pass", direct)
	}
}

// A kill between a repair and its record loses only the count. The file is right and stays ours,
// and the next pass finds nothing to do.
func TestAKillBetweenRepairAndRecord(t *testing.T) {
	root := t.TempDir()
	s := stands(t, root, wanting(file("/etc/a", "1")), nil)
	hostroot.Put(t, root, "/etc/a", "theirs")
	repairKilled(t, root, s, "file:/etc/a")
	if p := mustConverge(t, root, file("/etc/a", "1")); p.Summary.Changes() > 0 || contentOf(t, root, "/etc/a") != "1" {
		t.Errorf("the next pass changes %d keys, a is %q", p.Summary.Changes(), contentOf(t, root, "/etc/a"))
	}
	if e := entryOf(t, root, "file:/etc/a"); e.Drift != nil || e.Pending {
		t.Errorf("the ledger has %+v", e)
	}
	if mustConverge(t, root); hostroot.There(root, "/etc/a") {
		t.Error("a file that was ours before the kill is not ours now")
	}
}

// repairKilled makes a repair that is killed before it writes its record.
func repairKilled(t testing.TB, root string, s *Converged, key graph.Key) (made bool) {
	t.Helper()
	journal := filepath.Join(root, ledger.JournalFile)
	before, err := os.ReadFile(journal)
	if errors.Is(err, fs.ErrNotExist) {
		return false // then nothing is repaired without a pass
	}
	if err != nil {
		t.Fatal(err)
	}
	steps, _ := repair(t, root, s, key)
	if len(steps) > 0 {
		if err := os.WriteFile(journal, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return len(steps) > 0
}
