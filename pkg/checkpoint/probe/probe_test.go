package probe

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// The end of the window cuts no attempt short, or a store's outage would drag along what is only
// slow. The line that keeps it: probe.go, awaitSteady (attempt with the caller's context).
func TestTheWindowCutsNoProbeShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		means := Means{
			Store: func(context.Context, string, string) error { return errors.New("gone") },
			Ping: func(ctx context.Context, _ netip.Addr) error {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(time.Second):
					return nil
				}
			},
		}
		failed := awaitSteady(t.Context(), func(ctx context.Context) Failures {
			return Prober{Means: means}.Attempt(ctx, []Probe{"ping:10.0.0.1", "store:/s c"})
		}, 3*time.Second/2, 0)
		if len(failed) != 1 || !failed.Only(Store) {
			t.Errorf("failed: %s", failed)
		}
	})
}
