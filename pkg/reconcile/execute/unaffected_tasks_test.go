package execute

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
)

// A proved change affects only the tasks that come after its own, and no other task is planned
// again. A change that is not proved may affect any task. A refused change is reported. A task that
// was planned just now is not planned again before the first change.
func TestWhatNoChangeTouchesIsNotLookedAtAgain(t *testing.T) {
	needs.Root(t) // files belong to root
	for _, c := range []struct {
		what  string
		proof tasks.Proof
		fresh bool
		want  [6]int // number of plans of: changes, needs it, needs that, is right, is refused, is never set
	}{
		{"proved", tasks.ProofBefore, false, [6]int{3, 2, 2, 1, 2, 1}},
		{"harmless", tasks.ProofHarmless, false, [6]int{3, 2, 2, 1, 2, 1}},
		{"not proved", tasks.ProofNone, false, [6]int{3, 2, 2, 2, 2, 2}},
		{"planned just now", tasks.ProofBefore, true, [6]int{2, 2, 2, 1, 2, 1}},
	} {
		t.Run(c.what, func(t *testing.T) {
			root, ctx := t.TempDir(), t.Context()
			var plans [6]int
			var list []tasks.Task
			for i, name := range []string{"changes", "needs-it", "needs-that", "right", "refused", "never"} {
				if i > 0 {
					if err := os.WriteFile(filepath.Join(root, name), []byte("1"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				list = append(list, note{path: "/" + name, want: "1", drift: "1", planned: &plans[i], never: name == "never"})
			}
			after(list, 1, "file:/changes")
			after(list, 2, "file:/needs-it")
			h, err := host.Open(ctx, host.Options{Root: root})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			g, err := graph.New(list, tasks.AsNodes{}, graph.Options{})
			if err != nil {
				t.Fatal(err)
			}
			planned := Plan(ctx, g, h.Live.View(), nil, nil, nil)
			planned.Changes.ProveAll(c.proof)
			done, err := Apply(ctx, planned, h, ledger.Load(h.Live.Files), Options{Log: zap.NewNop(), Fresh: c.fresh,
				Refused: map[graph.Key]error{"file:/refused": graph.Permanent(os.ErrPermission)}})
			if err != nil || done.Changes.Get("file:/changes") == nil || done.Changes.Get("file:/never") == nil {
				t.Fatalf("applied: %v, %+v; want changes of /changes and /never", err, done)
			}
			if c.fresh {
				plans[4] = c.want[4] // planned before the first change, or after it
			}
			if diff := cmp.Diff(c.want, plans); diff != "" {
				t.Errorf("how often each was planned: %s", diff)
			}
		})
	}
}

// after makes a task need a key.
func after(list []tasks.Task, i int, key graph.Key) {
	n := list[i].(note)
	n.Requires = []graph.Key{key}
	list[i] = n
}

// A plan and the plan just before the change have the same text once in memory.
func TestASameTextIsKeptOnce(t *testing.T) {
	change := func(text string) *tasks.Change {
		return &tasks.Change{Items: []tasks.Item{{Key: "file:/a", Op: tasks.Create, After: []byte(text)}}}
	}
	now, planned := change("text"), change("text")
	if err := within("file:/a", now, planned); err != nil || &now.Items[0].After[0] != &planned.Items[0].After[0] {
		t.Errorf("there are two: %v", err)
	}
	if err := within("file:/a", change("other"), planned); err == nil {
		t.Error("another text is what was planned")
	}
}
