package witness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/netwright/netwright/test/netns"
)

// Clock counts the time in which the machine works, so that a machine that stands still is not
// taken for a node that is cut off. For that it repeats a control in a network namespace and a file
// that no document changes. Twice a second the control starts a program, changes a link and waits
// for the disk: an agent needs all three to bring a node back. If the control is late by more than
// [standstill], Clock does not count the delay.
type Clock struct {
	mu      sync.Mutex
	beat    time.Time // when the control was last done
	stopped time.Duration
}

// standstill is far above what the control takes beside a busy neighbour, and far below [bound].
const standstill = 5 * time.Second

// NewClock makes a clock and repeats its control until the end of the test.
func NewClock(t *testing.T) *Clock {
	t.Helper()
	c := &Clock{beat: time.Now()}
	ns := netns.New(t).Path()
	file := filepath.Join(t.TempDir(), "control")
	stop := make(chan struct{})
	var control sync.WaitGroup
	control.Go(func() {
		for mtu := 60000; ; mtu++ {
			if err := touch(ns, file, 60000+mtu%2); err != nil {
				t.Errorf("the control: %v", err)
				return
			}
			c.Beat()
			select {
			case <-stop:
				return
			case <-time.After(sampleEach):
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		control.Wait()
		if c.stopped > 0 {
			t.Logf("the machine stood still for %s, which counts for no document", c.stopped.Round(time.Second))
		}
	})
	return c
}

// touch changes a link of a namespace, and a file on the disk.
func touch(ns, file string, mtu int) error {
	cmd := exec.Command("nsenter", "--net="+ns, "ip", "link", "set", "dev", "lo", "mtu", fmt.Sprint(mtu))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close() // it is on the disk, or an error is given
	return f.Sync()
}

// Beat reports that the control ended once.
func (c *Clock) Beat() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped += c.late()
	c.beat = time.Now()
}

// Now is the time, without the time in which the machine stood still since the clock began.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(-c.stopped - c.late())
}

// late is the time by which the control of now is late.
func (c *Clock) late() time.Duration { return max(0, time.Since(c.beat)-standstill) }
