package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/tasks"
)

// wanting is a set of tasks as if a store had asked for it.
func wanting(list ...tasks.Task) *Desired {
	return &Desired{
		Node:     &config.Node{Cluster: "c", Name: "n"},
		Snapshot: &statestore.Snapshot{Origin: "test", Revision: statestore.Revision{Generation: 1}},
		held:     &heldSet{network: "test", recorded: list},
	}
}

func onRoot(root string) Pass { return Pass{Host: host.Options{Root: root}, Log: zap.NewNop()} }

// converge makes a whole pass on a root, ledger and all.
func converge(t testing.TB, root string, list ...tasks.Task) (*report.Plan, error) {
	t.Helper()
	return onRoot(root).Converge(t.Context(), wanting(list...))
}

func mustConverge(t testing.TB, root string, list ...tasks.Task) *report.Plan {
	t.Helper()
	p, err := converge(t, root, list...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func file(path, content string) tasks.File {
	return tasks.File{Meta: tasks.Meta{From: "test"}, Path: path, Content: []byte(content), Mode: 0o644}
}

// removed lists the keys that a plan removes.
func removed(p *report.Plan) []string {
	var out []string
	for _, s := range p.Steps {
		for _, it := range s.Items {
			if it.Op == "-" && (s.State == report.Planned || s.State == report.Done) {
				out = append(out, it.Key)
			}
		}
	}
	return out
}

func said(p *report.Plan) string {
	var b strings.Builder
	for _, n := range p.Notes {
		b.WriteString(n.Level + ": " + n.Text + "\n")
	}
	for _, s := range p.Steps {
		b.WriteString(s.Key + " " + string(s.State) + ": " + s.Message + "\n")
	}
	return b.String()
}

func there(root, path string) bool {
	_, err := os.Lstat(filepath.Join(root, path))
	return err == nil
}

func put(t testing.TB, root, path, content string) {
	t.Helper()
	at := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The line that keeps it: custody.go, enter (absent makes it ours); prune.go, sort (found stays).
func TestPruneRemovesWhatIsOursAndNothingElse(t *testing.T) {
	root := t.TempDir()
	put(t, root, "/etc/found", "theirs")
	put(t, root, "/etc/right", "r")
	mustConverge(t, root, file("/etc/ours/deep/file", "1"), file("/etc/found", "ours now"), file("/etc/right", "r"), file("/etc/stays", "1"))

	dry, err := onRoot(root).DryRun(t.Context(), wanting(file("/etc/stays", "1")))
	if err != nil {
		t.Fatal(err)
	}
	p := mustConverge(t, root, file("/etc/stays", "1"))
	want := []string{"file:/etc/ours/deep/file", "file:/etc/ours/deep", "file:/etc/ours"}
	if got := removed(p); !slices.Equal(got, want) {
		t.Errorf("removed %v, want %v, a path before its directory", got, want)
	}
	if got := removed(dry); !slices.Equal(got, want) {
		t.Errorf("the dry run listed %v, want %v", got, want)
	}
	if there(root, "/etc/ours") {
		t.Error("what was ours is still there")
	}
	if got := read(t, root, "/etc/found"); got != "ours now" {
		t.Errorf("/etc/found is %q: a found file is neither removed nor brought back by prune", got)
	}
	if !there(root, "/etc/right") {
		t.Error("a file that was right before us is gone")
	}
	for _, key := range []string{"/etc/found", "/etc/right"} {
		if !strings.Contains(said(p), key+" is no longer wanted and stays: it was there before") {
			t.Errorf("nothing was said of %s:\n%s", key, said(p))
		}
	}
	if p := mustConverge(t, root, file("/etc/stays", "1")); len(p.Notes)+len(p.Steps) != 0 {
		t.Errorf("the next run still has something to say:\n%s", said(p))
	}
}

// The line that keeps it: prune.go, sort (live != e.Last).
func TestWhatAPersonChangedIsReportedAndStays(t *testing.T) {
	root := t.TempDir()
	mustConverge(t, root, file("/etc/a", "1"), file("/etc/b", "1"))
	put(t, root, "/etc/a", "a person's")
	p := mustConverge(t, root, file("/etc/b", "1"))
	if !there(root, "/etc/a") || !strings.Contains(said(p), "warning: file:/etc/a is no longer wanted and stays: somebody changed it") {
		t.Errorf("a person's change was removed, or nothing was said of it:\n%s", said(p))
	}
}

// The line that keeps it: run.go, converge (failure(rep) == nil before the removals).
func TestNothingIsRemovedWhileWhatIsWantedFails(t *testing.T) {
	root := t.TempDir()
	mustConverge(t, root, file("/etc/a", "1"))
	if err := os.Mkdir(filepath.Join(root, "etc/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := converge(t, root, file("/etc/b", "1"))
	if err == nil || !there(root, "/etc/a") || !strings.Contains(said(p), "removed when all that is wanted is right") {
		t.Errorf("err = %v, /etc/a there: %v\n%s", err, there(root, "/etc/a"), said(p))
	}
}

// The line that keeps it: entries.go, lose.
func TestALostLedgerRemovesNothing(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"gone":  os.Remove,
		"empty": func(path string) error { return os.Truncate(path, 0) },
		"damaged": func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data[len(data)/3] ^= 1
			return os.WriteFile(path, data, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			mustConverge(t, root, file("/etc/a", "1"), file("/etc/b", "1"))
			if err := harm(filepath.Join(root, "var/lib/netwright/journal")); err != nil {
				t.Fatal(err)
			}
			p := mustConverge(t, root, file("/etc/b", "1"))
			if !strings.Contains(said(p), "counts as found") {
				t.Errorf("nothing was said of it:\n%s", said(p))
			}
			mustConverge(t, root)
			if !there(root, "/etc/a") || !there(root, "/etc/b") {
				t.Error("something was removed for want of a memory")
			}
		})
	}
}

// The lines that keep it: custody.go, intend before apply in run.go; prune.go, leftBy.
func TestAKillBetweenChangeAndRecordKeepsWhoseItIs(t *testing.T) {
	for name, before := range map[string]bool{"before the change": true, "after the change": false} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			put(t, root, "/etc/found", "theirs")
			die(t, root, []tasks.Task{file("/etc/ours", "1"), file("/etc/found", "2")}, before)
			mustConverge(t, root) // nobody wants them any more
			if there(root, "/etc/ours") {
				t.Error("what we made before the kill is nobody's now")
			}
			if !there(root, "/etc/found") {
				t.Error("what was there before us was removed")
			}
		})
	}
}

// die makes a pass that ends at the first change, before or after it, with the ledger as it then is on the disk.
func die(t testing.TB, root string, list []tasks.Task, before bool) {
	t.Helper()
	ctx := t.Context()
	led, err := loadLedger(host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(ctx, host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r, err := onRoot(root).begin(ctx, wanting(list...), h, led)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.custody.intend(ctx, h, r.changes); err != nil {
		t.Fatal(err)
	}
	if before {
		return
	}
	for _, task := range list {
		if c := r.changes.get(task.Owns()[0]); c != nil {
			if err := task.Apply(ctx, h, c); err != nil {
				t.Fatal(err)
			}
		}
	}
}
