package publish

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// A place that does not answer gets requests less and less often, and then the newest status. After
// that it gets none before the status changes. The lines that keep it: status_object.go, Run.
func TestObject(t *testing.T) {
	later := func(d time.Duration) { // until all wait
		time.Sleep(d)
		synctest.Wait()
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var down atomic.Bool
		var attempts atomic.Int32
		var written atomic.Value
		down.Store(true)
		o := &Object{Log: zap.NewNop(), Put: func(_ context.Context, data []byte) error {
			attempts.Add(1)
			if down.Load() {
				return errors.New("no route")
			}
			written.Store(string(data))
			return nil
		}}
		go o.Run(ctx)
		o.Observe(status("a"), nil)
		synctest.Wait()
		if n := attempts.Load(); n != 1 {
			t.Errorf("%d attempts in the first moment", n)
		}
		later(time.Hour)
		if n := attempts.Load(); n < 5 || n > 25 {
			t.Errorf("%d attempts in an hour in which the place was away", n)
		}
		down.Store(false)
		o.Observe(status("b"), nil)
		later(2 * objectMax)
		if text, _ := written.Load().(string); !strings.Contains(text, `"reason":"b"`) {
			t.Errorf("written was %q", text)
		}
		attempts.Store(0)
		later(time.Hour)
		for range 100 {
			o.Observe(status("b"), nil)
		}
		later(time.Hour)
		if n := attempts.Load(); n > 0 {
			t.Errorf("%d writings of what had not changed", n)
		}
		down.Store(true)
		o.Observe(status("c"), nil)
		later(time.Second)
		o.Observe(status("d"), nil) // the next attempt writes this one
		down.Store(false)
		later(objectEvery * 3 / 2)
		o.Observe(status("c"), nil)
		later(2 * objectMax)
		if text, _ := written.Load().(string); !strings.Contains(text, `"reason":"c"`) {
			t.Errorf("written was %q, and the node is at c again", text)
		}
		cancel(errors.New("the test ends"))
		synctest.Wait()
	})
}
