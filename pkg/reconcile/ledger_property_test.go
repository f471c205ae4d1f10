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

// What a random history may bring about for a path.
type owner int

const (
	nobody owner = iota
	us
	somebody
	either // ours once, written over by somebody, repaired since: it may go or stay
)

// A random history of wanted sets, kills before and after the changes, repairs of single keys with
// a kill before their record and without, people who write and remove files, and ledgers that get
// lost: nothing of somebody else's is ever removed, and what is ours goes when nobody wants it, as
// long as the ledger was never lost.
//
// The lines that keep it: pkg/reconcile/ownership/ledger_entries.go, enter, again, overtaken and
// leftBy; pkg/reconcile/ownership/write_before_change.go, Intend;
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
		held := map[string]bool{} // what the ledger may have an entry for
		var left *Converged       // by the last pass
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
				_ = os.Remove(filepath.Join(root, path))                                  // absent is as good
				edited[path] = whose[path] == us || whose[path] == either || edited[path] // what somebody puts there next, the ledger may take for ours, repaired
				if whose[path] == somebody && held[path] {
					whose[path] = either // the entry says whose it was; what we put there next may stay for that
				} else {
					whose[path] = nobody
				}
			case "lose":
				_ = os.Remove(filepath.Join(root, "var/lib/netwright/journal")) // likewise
				lost = true
			case "repair":
				path := rapid.SampledFrom(paths).Draw(rt, "path")
				if left == nil || !left.set.Wants(tasks.FileKey(path)) {
					continue
				}
				made := false
				if killed := rapid.Bool().Draw(rt, "killed"); killed {
					made = repairKilled(t, root, left, tasks.FileKey(path))
					left = nil // the process is gone
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
				p.ForceRepair = true // a repair that was killed counts for a conflict: who asks by hand does not wait for its turn
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
						edited[path] = false // let go of: what is there is somebody's from now on
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

// take notes what a pass that changed the host made ours: what was absent. What somebody else had
// there stays theirs, repaired or not.
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
