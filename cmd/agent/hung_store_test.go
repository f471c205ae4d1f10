package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/cli/prober"
	"github.com/netwright/netwright/test/disk"
)

// Nothing that fetches a snapshot waits for ever for a file system that does not answer: neither
// the commands nor a checkpoint's probe of the store. The lines that keep it: the callers of
// pkg/statestore/hung_store.go, Bounded.
func TestNothingWaitsForAHungStore(t *testing.T) {
	store := disk.Hung(t)
	late := errors.New("the limit of this test is over")
	within := func(what string, do func(context.Context) string) {
		t.Helper()
		ctx, end := context.WithTimeoutCause(t.Context(), time.Second, late)
		defer end()
		said := make(chan string, 1)
		go func() { said <- do(ctx) }()
		select {
		case text := <-said:
			if !strings.Contains(text, late.Error()) {
				t.Errorf("%s says %q", what, text)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s hangs", what)
		}
	}
	for _, args := range [][]string{
		{"store", "check", store, "--cluster", "c"}, {"store", "verify", store, "--cluster", "c"},
		{"store", "publish", store, t.TempDir(), "--cluster", "c"}, {"store", "vendor", store, "--cluster", "c"},
	} {
		within(args[1], func(ctx context.Context) string {
			var out, errs strings.Builder
			run(ctx, args, cli.Output{Out: &out, Err: &errs})
			return errs.String()
		})
	}
	within("the probe", func(ctx context.Context) string {
		return prober.Means(nil).Store(ctx, store, "c").Error()
	})
}
