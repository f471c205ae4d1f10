package daemon

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/netwright/netwright/pkg/host"
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

// gcPercent is the garbage in the heap of a pass over many files, in percent of what is in use.
const gcPercent = 25

// limitHeap has garbage collected more often, until the caller calls end, because half of the heap
// of a pass over many files is garbage with the Go runtime's default. The peak is smaller then, and
// so are the runtime's tables about the heap, which it never returns to the kernel.
func limitHeap() (end func()) {
	before := debug.SetGCPercent(gcPercent)
	return func() {
		if now := debug.SetGCPercent(before); now != gcPercent { // the first collection of the process changed it
			debug.SetGCPercent(now)
		}
	}
}
