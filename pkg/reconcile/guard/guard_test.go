package guard

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/netns"
)

// A change begins once, when its undo is armed. A change that could not be undone does not begin,
// so no node is cordoned for it. The lines that keep it: guard.go, Before (Begun);
// pkg/reconcile/carry_out.go, carryOut.
func TestAChangeBeginsWhenItsUndoIsArmed(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, err := host.Open(t.Context(), host.Options{Root: "/", Facts: &host.Facts{}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	taker := Taker{Running: true,
		Settings: checkpoint.Settings{Probes: []probe.Probe{"nonsense:x"}, Window: time.Second}}
	try := func() (begun int, err error) {
		g, ctx, err := taker.Take(t.Context(), h, ledger.Load(h.Live.Files), checkpoint.Change{})
		if err != nil {
			t.Fatal(err)
		}
		g.Begun = func() { begun++ }
		for i := range 2 {
			var waited bool
			if waited, err = g.Before(ctx, tasks.File{Path: "/etc/a"}, &tasks.Change{}); waited != (i == 0) {
				t.Errorf("change %d waited: %v", i, waited)
			}
		}
		if failed := g.Finish(ctx, nil); failed != nil {
			t.Fatal(failed)
		}
		return begun, err
	}
	dir := filepath.Dir(checkpoint.Dir)
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var refused *checkpoint.RefusedError
	if begun, err := try(); begun != 0 || !errors.As(err, &refused) {
		t.Errorf("without a place for its undo it began %d times: %v", begun, err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if begun, err := try(); begun != 1 || err != nil {
		t.Errorf("it began %d times, want once: %v", begun, err)
	}
}
