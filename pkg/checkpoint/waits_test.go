package checkpoint

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/netns"
)

// A change of the files by which names are looked up is judged after this process has forgotten
// former answers. A window that is shorter than that becomes as long. The lines that keep it:
// finish.go, naming and awaitProbes; take.go, capture.
func TestNamesAreForgottenFirst(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h := onUplink(t)
	for path, window := range map[string]time.Duration{"/etc/hosts": 6 * time.Second, "/etc/resolv.conf": 6 * time.Second, "/etc/motd": time.Second} {
		point, err := Take(t.Context(), h, Change{Keys: []graph.Key{tasks.FileKey(path)}}, Settings{Window: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if got := point.Limit(); got != changeWindows*window {
			t.Errorf("%s: the change may take %s, want %s", path, got, changeWindows*window)
		}
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			means := probe.Means{Store: func(context.Context, string, string) error {
				if time.Since(begun) >= 5*time.Second {
					return errors.New("no such host")
				}
				return nil
			}}
			j := &Journal{Window: 30 * time.Second, Evidence: probe.Evidence{Probes: []probe.Probe{probe.StoreProbe("https://store.lab", "c")}}, Log: undo.Log{Files: point.journal.Files}}
			failed := (&Checkpoint{compared: j.compare(nil, Settings{Means: means}), journal: j}).awaitProbes(t.Context())
			if (len(failed) > 0) != (window > time.Second) {
				t.Errorf("%s: it failed by %v", path, failed)
			}
		})
	}
}

// A hook may break the network while it starts. The probes must pass after it is up, within the
// window. A hook that takes longer does not delay the verdict, and is watched. The line that keeps
// it: pkg/checkpoint/probe/comparison.go, AwaitProbes.
func TestWhatStartsIsWaitedFor(t *testing.T) {
	const window, never = 30 * time.Second, time.Hour
	for name, c := range map[string]struct {
		up, cut time.Duration // after the change
		failed  bool
		took    time.Duration
	}{
		"it comes up well":             {10 * time.Second, never, false, 13 * time.Second},
		"it cuts off as it comes up":   {10 * time.Second, 10 * time.Second, true, window},
		"it cuts off, and never is up": {never, 5 * time.Second, true, window},
		"it takes its time":            {never, never, false, window},
		"nothing starts":               {0, never, false, 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			means := probe.Means{Ping: func(context.Context, netip.Addr) error {
				if time.Since(begun) >= c.cut {
					return errors.New("cut off")
				}
				return nil
			}}
			j := &Journal{Window: window, Evidence: probe.Evidence{Probes: []probe.Probe{"ping:10.0.0.1"}}, Log: undo.Log{Units: []undo.Unit{{Name: "hook.service"}}}}
			point := &Checkpoint{compared: j.compare(nil, Settings{Means: means}), journal: j}
			point.WaitFor(func(context.Context) bool { return time.Since(begun) < c.up }, nil)
			failed := point.awaitProbes(t.Context())
			if took := time.Since(begun); (len(failed) > 0) != c.failed || took < c.took || took > c.took+time.Second/2 {
				t.Errorf("%s: failed %v after %s, want %s", name, failed, took, c.took)
			}
		})
	}
}
