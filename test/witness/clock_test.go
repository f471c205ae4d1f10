package witness

import (
	"testing"
	"testing/synctest"
	"time"
)

// The clock runs with the time while the control runs, and not while the machine stands still. The
// lines that keep it: clock.go, Beat (stopped) and Now.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		c := &Clock{beat: begun}
		after := func(want time.Duration) {
			t.Helper()
			if got := c.Now().Sub(begun); got != want {
				t.Errorf("the clock went %s, want %s", got, want)
			}
		}
		for range 60 {
			time.Sleep(standstill)
			c.Beat()
		}
		after(60 * standstill)
		time.Sleep(time.Minute)
		after(61 * standstill)
		c.Beat()
		after(61 * standstill)
		time.Sleep(time.Second)
		after(61*standstill + time.Second)
	})
}
