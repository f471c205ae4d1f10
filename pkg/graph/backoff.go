package graph

import (
	"math/rand/v2"
	"time"
)

// Backoff says how often and how soon a visit that ended with a transient error is made again. The
// zero value: never.
type Backoff struct {
	First    time.Duration // pause after the first attempt; each further one is twice as long
	Max      time.Duration // no pause is longer
	Attempts int           // visits of one node in all; 0 and 1: no second one
	// Rand returns a number in [0, 1), and draws the pause between half of its length and all of
	// it, so that what failed together does not come back together. Run calls it from one goroutine
	// at a time. Nil: math/rand/v2.
	Rand func() float64
}

// pause is how long to wait after the given attempt, counted from 1.
func (b Backoff) pause(attempt int) time.Duration {
	pause := min(b.First, b.Max)
	for range attempt - 1 {
		pause += min(pause, b.Max-pause) // twice as long, and never past the longest, so that it cannot overflow
	}
	draw := b.Rand
	if draw == nil {
		draw = rand.Float64
	}
	return pause/2 + time.Duration(draw()*float64(pause-pause/2))
}
