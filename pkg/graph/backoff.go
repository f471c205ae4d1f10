package graph

import (
	"math/rand/v2"
	"time"
)

// Backoff says how often and how soon Run visits a node again after a transient error. The zero
// value means never.
type Backoff struct {
	First    time.Duration // pause after the first attempt; each further one is twice as long
	Max      time.Duration // no pause is longer
	Attempts int           // visits of one node in all; 0 and 1: no second visit
	// Rand returns a number in [0, 1). It draws each pause between half of its length and all of
	// it, so that nodes that failed together are not visited again at the same time. Run calls it
	// from one goroutine at a time. Nil: math/rand/v2.
	Rand func() float64
}

// pause returns how long to wait after the given attempt; the first attempt is 1.
func (b Backoff) pause(attempt int) time.Duration {
	pause := min(b.First, b.Max)
	for range attempt - 1 {
		pause += min(pause, b.Max-pause) // doubled, up to Max; it cannot overflow
	}
	draw := b.Rand
	if draw == nil {
		draw = rand.Float64
	}
	return pause/2 + time.Duration(draw()*float64(pause-pause/2))
}
