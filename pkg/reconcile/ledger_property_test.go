package reconcile

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// owner says who owns a path after a random history.
type owner int

const (
	nobody owner = iota
	us
	somebody
	either // once ours, changed by others, then repaired: it may go or stay
)

// The test makes random histories. They have wanted sets, kills before and after the changes,
// repairs of single keys with and without a kill before their record, people who write and remove
// files, and lost ledgers. The agent never removes anything of others. It removes its own files
// when no document wants them, if the ledger was never lost.
//
// The lines that keep it: pkg/reconcile/ownership/ledger_entries.go, enter, again, overtaken and
// leftBy; pkg/reconcile/ownership/intend.go, Intend;
// pkg/reconcile/ownership/removals.go, sort.
func TestTheLedgerRemovesOnlyWhatItMade(t *testing.T) {
	needs.Root(t) // files belong to root
	paths := []string{"/etc/a", "/etc/b", "/etc/dir/c", "/etc/dir/d"}
	rapid.Check(t, func(rt *rapid.T) {
		root, err := os.MkdirTemp("", "ledger-")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(root)
		whose, edited, lost := map[string]owner{}, map[string]bool{}, false
		held := map[string]bool{} // paths that may have an entry
		var left *Converged       // what the last pass left
		for step := range rapid.IntRange(1, 10).Draw(rt, "steps") {
			var want []tasks.Task
			var wanted map[string]bool
			switch rapid.SampledFrom([]string{"converge", "converge", "converge", "kill before", "kill after", "write", "remove", "lose", "repair", "repair"}).Draw(rt, "what") {
			case "write":
				path := rapid.SampledFrom(paths).Draw(rt, "path")
				hostroot.Put(t, root, path, "somebody's "+string(rune('a'+step)))
				edited[path] = whose[path] == us || whose[path] == either || edited[path]
				whose[path] = somebody
			case "remove":
				path := rapid.SampledFrom(paths).Draw(rt, "path")
				_ = os.Remove(filepath.Join(root, path))                                  // it may be absent
				edited[path] = whose[path] == us || whose[path] == either || edited[path] // the ledger may take the next content of somebody for ours
				if whose[path] == somebody && held[path] {
					whose[path] = either // by the entry, what we put there next may stay
				} else {
					whose[path] = nobody
				}
			case "lose":
				_ = os.Remove(filepath.Join(root, "var/lib/netwright/journal")) // it may be absent
				lost = true
			case "repair":
				path := rapid.SampledFrom(paths).Draw(rt, "path")
				if left == nil || !left.set.Wants(tasks.FileKey(path)) {
					continue
				}
				made := false
				if killed := rapid.Bool().Draw(rt, "killed"); killed {
					made = repairKilled(t, root, left, tasks.FileKey(path))
					left = nil // the process has ended
				} else if steps, err := repair(t, root, left, tasks.FileKey(path)); err == nil {
					made = len(steps) > 0
				}
				if made {
					take(whose, edited, map[string]bool{path: true})
				}
			case "kill before":
				want, wanted = drawWant(rt, paths)
				die(t, root, want, true)
				maps.Copy(held, wanted)
			case "kill after":
				want, wanted = drawWant(rt, paths)
				die(t, root, want, false)
				take(whose, edited, wanted)
				maps.Copy(held, wanted)
			default:
				want, wanted = drawWant(rt, paths)
				p := onRoot(root)
				p.OnConverged = func(s *Converged) { left = s }
				left = nil
				p.ForceRepair = true // a killed repair counts as a conflict, and a command need not wait for its turn
				if _, err := p.Converge(t.Context(), wanting(want...)); err != nil {
					rt.Fatal(err)
				}
				take(whose, edited, wanted)
				held = wanted
				for _, path := range paths {
					is := hostroot.There(root, path)
					switch {
					case wanted[path] && !is:
						rt.Fatalf("step %d: %s is wanted and absent", step, path)
					case !wanted[path] && whose[path] == somebody && !is:
						rt.Fatalf("step %d: %s is somebody's and was removed", step, path)
					case !wanted[path] && whose[path] == us && is && !lost:
						rt.Fatalf("step %d: %s is ours, nobody wants it, and it stays", step, path)
					}
					if !is {
						whose[path], edited[path] = nobody, false
					} else if !wanted[path] {
						edited[path] = false // released: the file belongs to somebody now
					}
				}
			}
		}
	})
}

func drawWant(rt *rapid.T, paths []string) ([]tasks.Task, map[string]bool) {
	var list []tasks.Task
	wanted := map[string]bool{}
	for _, path := range paths {
		if rapid.Bool().Draw(rt, path) {
			list = append(list, file(path, rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "content")))
			wanted[path] = true
		}
	}
	return list, wanted
}

// take notes what a pass that changed the host made ours, which is what was absent. What somebody
// else had there stays theirs, also after a repair.
func take(whose map[string]owner, edited, wanted map[string]bool) {
	for path := range wanted {
		switch {
		case whose[path] == nobody:
			whose[path] = us
		case edited[path]:
			whose[path] = either
		}
	}
}
