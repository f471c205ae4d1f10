package daemon

import (
	"math"
	"time"
)

// never is a wait without an end: it is longer than every interval.
const never = time.Duration(math.MaxInt64)

// until returns how long it is until a time; never for the zero time.
func until(at time.Time) time.Duration {
	if at.IsZero() {
		return never
	}
	return max(time.Until(at), 0)
}
