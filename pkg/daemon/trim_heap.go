package daemon

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile/desired"
)

// restAfter is how long after a pass trim gives memory back to the kernel: repairs often follow
// each other closely.
const restAfter = 5 * time.Second

// heap decides when to give memory back between passes. A pass leaves some megabytes of garbage,
// and one over ten thousand files a hundred. The Go runtime alone keeps it: it collects when as
// much again was allocated, or after two minutes, and returns only a part to the kernel.
type heap struct {
	next time.Time // when to trim; zero: done already
}

// used records that a pass or another job ended.
func (h *heap) used() { h.next = time.Now().Add(restAfter) }

// trim collects garbage twice, which takes some milliseconds of a processor, and returns the free
// memory to the kernel. It also unmaps the pages of the program, which are two thirds of the
// process's memory; an error leaves them mapped.
func (h *heap) trim() {
	h.next = time.Time{}
	runtime.GC() // a sync.Pool keeps its objects for one collection
	debug.FreeOSMemory()
	_ = host.UnmapProgram()
}

// Limits of the heap of a pass.
const (
	manyFiles = 4000 // the heap of a pass over so many files is limited
	gcPercent = 25   // garbage in that heap, in percent of what is in use
)

// limitHeap has garbage collected more often in a pass over many files, until the caller calls end.
// With the Go runtime's default, half of the heap of such a pass is garbage. The runtime never
// returns its tables about the heap to the kernel, so they stay as large as the largest heap needs.
func limitHeap(files int) (end func()) {
	if files < manyFiles {
		return func() {}
	}
	before := debug.SetGCPercent(gcPercent)
	return func() {
		if now := debug.SetGCPercent(before); now != gcPercent { // the first collection of the process changed it
			debug.SetGCPercent(now)
		}
	}
}

// filesOf returns how many files the documents name.
func filesOf(d *desired.State) int {
	if d == nil || d.Node == nil {
		return 0
	}
	return len(d.Node.FileAssets)
}
