package drift

import (
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/tasks"
)

// An effect is proved if all tasks that ask for it restore what was there. A harmless file does not
// prove its effect, and an effect for a hook is never proved. The line that keeps it:
// prove_changes.go, follows.
func TestWhatFollowsFromWhatWasProved(t *testing.T) {
	restart := tasks.Restart("systemd-networkd.service")
	asks := func(p tasks.Proof) *tasks.Change { return &tasks.Change{Effects: []graph.Key{restart}, Proof: p} }
	for name, c := range map[string]struct {
		by   map[graph.Key]*tasks.Change
		owed []string
		want bool
	}{
		"nobody asks":             {},
		"one is proved":           {by: map[graph.Key]*tasks.Change{"file:/etc/a": asks(tasks.ProofBefore)}, want: true},
		"another is not":          {by: map[graph.Key]*tasks.Change{"file:/etc/a": asks(tasks.ProofBefore), "file:/etc/b": asks(tasks.ProofNone)}},
		"one is harmless":         {by: map[graph.Key]*tasks.Change{"file:/etc/a": asks(tasks.ProofHarmless)}},
		"it is owed for another":  {by: map[graph.Key]*tasks.Change{"file:/etc/a": asks(tasks.ProofBefore)}, owed: []string{"file:/etc/c"}},
		"it is owed for the same": {by: map[graph.Key]*tasks.Change{"file:/etc/a": asks(tasks.ProofBefore)}, owed: []string{"file:/etc/a"}, want: true},
	} {
		led := load(t)
		for _, by := range c.owed {
			led.Effects.Enqueue(string(restart), by)
		}
		d := &Judge{led: led}
		if got := d.follows(restart, &changes.Set{ByKey: c.by}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// load returns the ledger of a root that has none.
func load(t *testing.T) *ledger.Ledger {
	t.Helper()
	files, err := host.OpenFiles(host.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() }) // only read from
	return ledger.Load(files)
}
