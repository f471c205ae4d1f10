package daemon

import (
	"math"
	"time"
)

// never is a wait for nothing: it outlasts every interval.
const never = time.Duration(math.MaxInt64)

// until is how long it is until a time; never until none.
func until(at time.Time) time.Duration {
	if at.IsZero() {
		return never
	}
	return max(time.Until(at), 0)
}
