package agent

import (
	"os"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// classOf is the class of the one step that a dry run plans.
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

// What a node had and went on with is brought back without a checkpoint; what is new to it is not.
// The line that keeps it: proof.go, provedBefore.
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

// An effect is proved if all are that ask for it. What is done for a hook is not: what its program
// does now is not what it did. The line that keeps it: proof.go, follows.
func TestWhatFollowsFromWhatWasProved(t *testing.T) {
	restart := tasks.Restart("systemd-networkd.service")
	one, two := file("/etc/a", "1"), file("/etc/b", "1")
	hook := tasks.Unit{Name: "x.service"}
	reload := tasks.Effect{Action: tasks.ActionDaemonReload}
	g, err := graph.New([]tasks.Task{one, two, hook, reload}, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	asks := func(p tasks.Proof) *tasks.Change { return &tasks.Change{Asks: []graph.Key{restart}, Proof: p} }
	for name, c := range map[string]struct {
		by   map[graph.Key]*tasks.Change
		owed []string
		want bool
	}{
		"nobody asks":             {},
		"one is proved":           {by: map[graph.Key]*tasks.Change{"file:/etc/a": asks(tasks.ProvedBefore)}, want: true},
		"another is not":          {by: map[graph.Key]*tasks.Change{"file:/etc/a": asks(tasks.ProvedBefore), "file:/etc/b": asks(tasks.Unproved)}},
		"a hook":                  {by: map[graph.Key]*tasks.Change{hook.Owns()[0]: asks(tasks.ProvedBefore)}},
		"it is owed for another":  {by: map[graph.Key]*tasks.Change{"file:/etc/a": asks(tasks.ProvedBefore)}, owed: []string{"file:/etc/c"}},
		"it is owed for the same": {by: map[graph.Key]*tasks.Change{"file:/etc/a": asks(tasks.ProvedBefore)}, owed: []string{"file:/etc/a"}, want: true},
	} {
		led := ledger.Load(rootFiles{t.TempDir()})
		for _, by := range c.owed {
			led.Owe(string(restart), by)
		}
		ch := &changes{byKey: c.by, drift: &drift{custody: &custody{led: led}}}
		if got := ch.follows(g, restart); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
