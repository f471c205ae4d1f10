package publish

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// A place that cannot be had is asked ever more seldom, then gets the newest, and is not asked again before something changes. The lines that keep it: object.go, Run.
func TestObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		down, attempts, written := true, 0, ""
		o := &Object{Log: zap.NewNop(), Put: func(_ context.Context, data []byte) error {
			attempts++
			if down {
				return errors.New("no route")
			}
			written = string(data)
			return nil
		}}
		go o.Run(ctx)
		o.Observe(status("a"), nil)
		synctest.Wait()
		if attempts != 1 {
			t.Errorf("%d attempts in the first moment", attempts)
		}
		time.Sleep(time.Hour)
		if attempts < 5 || attempts > 25 {
			t.Errorf("%d attempts in an hour in which the place was away", attempts)
		}
		o.Observe(status("b"), nil)
		down = false
		time.Sleep(2 * objectMax)
		if !strings.Contains(written, `"reason":"b"`) {
			t.Errorf("written was %q", written)
		}
		attempts = 0
		time.Sleep(time.Hour)
		for range 100 {
			o.Observe(status("b"), nil)
		}
		time.Sleep(time.Hour)
		if attempts > 1 {
			t.Errorf("%d writings of what had not changed", attempts)
		}
		cancel(errors.New("the test ends"))
		synctest.Wait()
	})
}
