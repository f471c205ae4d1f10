package daemon

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
)

// The daemon gives memory back once, five seconds after the last of several passes. The lines that
// keep it: trim_heap.go; loop.go, await.
func TestMemoryIsGivenBackAfterAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heap
		if until(h.next) != never {
			t.Error("memory is given back before any pass")
		}
		h.used()
		time.Sleep(restAfter - time.Second)
		h.used()
		if left := until(h.next); left != restAfter {
			t.Errorf("%s after the second pass, want %s", left, restAfter)
		}
		time.Sleep(2 * restAfter)
		if left := until(h.next); left != 0 {
			t.Errorf("memory is given back in %s, want now", left)
		}
		h.trim()
		if until(h.next) != never {
			t.Error("memory is given back a second time")
		}
	})
}

// The daemon gives back the pages of its program and what pools keep. It goes on afterwards, with
// the pages that it needs again. The lines that keep it: trim_heap.go, trim.
func TestWhatIsGivenBack(t *testing.T) {
	pool := sync.Pool{}
	pool.Put(new([1 << 20]byte))
	useProgram(t)
	before := mappedFiles(t)
	new(heap).trim()
	if after := mappedFiles(t); after > before/2 {
		t.Errorf("%d kB of files are mapped, and were before: %d", after, before)
	}
	if pool.Get() != nil {
		t.Error("a pool keeps what nobody uses")
	}
}

// A plan begins without the pages of the program that the start used. The line that keeps it:
// pkg/reconcile/plan.go, planner.plan.
func TestAPlanGivesTheProgramBack(t *testing.T) {
	b := newBox(t)
	b.document(t, b.plugins(t, "plugins.tar", ""))
	d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	useProgram(t)
	before := mappedFiles(t)
	if _, err := b.daemon.Pass.DryRun(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if after := mappedFiles(t); after > before*3/4 {
		t.Errorf("%d kB of files are mapped, and were before: %d", after, before)
	}
}

// useProgram reads all that is mapped of the program, so that it is in this process' memory.
func useProgram(t *testing.T) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		if _, err := fmt.Sscanf(line, "%x-%x r", &from, &to); err != nil || !strings.Contains(line, ".test") {
			continue
		}
		if _, err := io.Copy(io.Discard, io.NewSectionReader(memory, from, to-from)); err != nil {
			t.Fatal(err)
		}
	}
}

// mappedFiles returns how much of this process' memory is pages of files, in kB.
func mappedFiles(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "RssFile:"); found {
			size, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatal(err)
			}
			return size
		}
	}
	t.Fatal("/proc/self/status has no RssFile")
	return 0
}

// Garbage is collected more often in a pass over many files: of the documents before it, which it
// removes, or of those that it takes. The lines that keep it: loop.go, once; trim_heap.go,
// limitHeap.
func TestThePassOverManyFilesHasLittleGarbage(t *testing.T) {
	_, l := watchedLoop(t)
	usual := percentOfGarbage()
	few, many := l.desired, *l.desired
	node := *few.Node
	node.FileAssets = make([]extras.FileAsset, desired.ManyFiles)
	many.Node = &node
	for _, c := range []struct {
		name         string
		before, next *desired.State
		want         uint64
	}{{"few", few, few, usual}, {"installed", few, &many, gcPercent}, {"removed", &many, few, gcPercent}} {
		var during uint64
		l.desired = c.before
		pass := l.Pass
		pass.Hooks.OnPhase = func(string) { during = percentOfGarbage() }
		l.once(t.Context(), pass, &looked{desired: c.next, pass: reconcile.Pass{}})
		if after := percentOfGarbage(); during != c.want || after != usual {
			t.Errorf("%s: %d %% in the pass and %d %% after it, want %d and %d", c.name, during, after, c.want, usual)
		}
	}
	end := limitHeap()
	debug.SetGCPercent(150) // as the first collection of the process sets another one
	defer debug.SetGCPercent(int(usual))
	if end(); percentOfGarbage() != 150 {
		t.Errorf("%d %%, and the process set 150 meanwhile", percentOfGarbage())
	}
}

// percentOfGarbage is at how much garbage the heap is collected, in percent of what is in use.
func percentOfGarbage() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
