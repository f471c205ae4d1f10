package host_test

import (
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// Looks of several periods come together, also after a moment before the process began; each comes
// after its moment, and within its period.
func TestTicksOfPeriodsComeTogether(t *testing.T) {
	now := time.Now()
	for _, after := range []time.Time{now, now.Add(7*time.Second + time.Millisecond), now.Add(time.Hour), now.Add(-time.Hour)} {
		short, long := host.NextTick(after, 10*time.Second), host.NextTick(after, 30*time.Second)
		if in := short.Sub(after); in <= 0 || in > 10*time.Second {
			t.Errorf("a tick of 10s comes in %s", in)
		}
		if long.Sub(short)%(10*time.Second) != 0 || long.Before(short) {
			t.Errorf("a tick of 30s comes %s after one of 10s", long.Sub(short))
		}
	}
}
