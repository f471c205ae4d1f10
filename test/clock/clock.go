// Package clock makes times as a process has them whose wall clock was set. No test may set the
// clock of its machine.
package clock

import (
	"time"
	"unsafe"
)

// NotedBefore returns a time that [time.Now] gave as a process has it that noted it before the wall
// clock was set forward by step: only the reading of the wall clock differs. It is in the first
// field of a time, in seconds above 30 bits of nanoseconds.
func NotedBefore(t time.Time, step time.Duration) time.Time {
	*(*int64)(unsafe.Pointer(&t)) -= int64(step/time.Second) << 30
	return t
}
