package daemon

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// restAfter is how long after a pass memory goes back to the kernel: passes that repair something
// come in rows.
const restAfter = 5 * time.Second

// heap is the memory between passes. A pass leaves some megabytes that nobody uses, and one over
// ten thousand files a hundred. By itself the runtime keeps them: it collects when as much again
// was allocated, or after two minutes, and gives back what it thinks it can do without.
type heap struct {
	next time.Time // when it is given back; zero: it was
}

// used notes that a pass ended, or another job.
func (h *heap) used() { h.next = time.Now().Add(restAfter) }

// trim gives back what is free, after two collections: some milliseconds of a processor. And the
// pages of the program, which are two thirds of what the process has; where that fails they stay.
func (h *heap) trim() {
	h.next = time.Time{}
	runtime.GC() // pools keep what they have for one collection
	debug.FreeOSMemory()
	_ = host.UnmapProgram()
}
