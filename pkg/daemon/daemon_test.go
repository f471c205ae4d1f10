package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/stores"
)

// counter is a service manager that stops the daemon after some passes. It keeps what the daemon
// reports.
type counter struct {
	mu     sync.Mutex
	passes int
	at     map[int]func() // what to do at each pass
	ready  int
	said   []string
}

func (c *counter) Ready(status string) error {
	c.mu.Lock()
	c.ready++
	c.mu.Unlock()
	return c.Status(status)
}

func (c *counter) Status(status string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passes++
	c.said = append(c.said, status)
	if do := c.at[c.passes]; do != nil {
		do()
	}
	return nil
}

func (c *counter) Stopping() error            { return nil }
func (c *counter) Reloading() error           { return nil }
func (c *counter) Extend(time.Duration) error { return nil }

func (c *counter) Watchdog(ctx context.Context, _ func() bool) error {
	<-ctx.Done()
	return nil
}

// plainStore returns a directory store of one cluster, whose Cluster has this spec.
func plainStore(t *testing.T, spec string) statestore.Store {
	t.Helper()
	dir := t.TempDir()
	doc := "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo.example.com}\nspec:\n" + spec
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "demo.example.com"), 0o755),
		os.WriteFile(filepath.Join(dir, "demo.example.com", "cluster.yaml"), []byte(doc), 0o644)); err != nil {
		t.Fatal(err)
	}
	store, err := stores.Open(dir, "demo.example.com", stores.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

const calicoOnImage = "  kubernetesVersion: 1.36.0\n  networking: {calico: {}}\n"

// held counts what a process must release: open files, goroutines, and live memory in bytes.
type held struct {
	files, goroutines int
	heap              uint64
}

func holds(t *testing.T) held {
	t.Helper()
	debug.FreeOSMemory()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return held{len(open), runtime.NumGoroutine(), m.HeapAlloc}
}

// grew says what of this is more than before. Maps and pools may keep some memory.
func (h held) grew(before held) string {
	if h.files > before.files || h.goroutines > before.goroutines || h.heap > before.heap+1<<20 {
		return fmt.Sprintf("%+v became %+v", before, h)
	}
	return ""
}

// settled returns what the process holds when everything that ends without help has ended, such as
// readers of closed sockets. What lasts longer is a leak.
func settled(t *testing.T, before held) held {
	t.Helper()
	now := holds(t)
	for range 1000 {
		if now.grew(before) == "" {
			break
		}
		time.Sleep(10 * time.Millisecond)
		now = holds(t)
	}
	return now
}

// A daemon runs for years, so a thousand passes must leave nothing behind. Now and then somebody
// removes a file.
func TestAThousandPassesLeakNothing(t *testing.T) {
	root := t.TempDir()
	ctx, stop := context.WithCancelCause(t.Context())
	var early, late held
	m := &counter{at: map[int]func(){100: func() { early = holds(t) }, 1000: func() { late = settled(t, early); stop(errors.New("enough")) }}}
	for pass := 50; pass < 1000; pass += 50 {
		m.at[pass+1] = func() { _ = os.Remove(filepath.Join(root, "etc", "sysctl.d", "99-netwright.conf")) }
	}
	d := Daemon{Pass: reconcile.Pass{Host: host.Options{Root: root}, Log: zap.NewNop()}, Store: plainStore(t, calicoOnImage),
		Select: config.Select{Node: "node-1"}, Interval: time.Microsecond, Manager: m}
	if err := d.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if grew := late.grew(early); grew != "" {
		t.Errorf("from the 100th to the 1000th pass %s", grew)
	}
	if m.ready != 1 || m.passes != 1000 {
		t.Errorf("READY %d times in %d passes, want once in 1000", m.ready, m.passes)
	}
}

// The daemon looks at the running machine over netlink, D-Bus, CRI and procfs. A dry run writes
// nothing.
func TestLooksAtAMachineLeakNothing(t *testing.T) {
	d, err := desired.Load(t.Context(), plainStore(t, calicoOnImage), config.Select{Node: "node-1"}, statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	var early held
	for i := range 60 {
		if i == 20 {
			early = holds(t)
		}
		if _, err := (reconcile.Pass{Log: zap.NewNop()}).DryRun(t.Context(), d); err != nil && !changes.IsRunError(err) {
			t.Fatal(err)
		}
	}
	if grew := settled(t, early).grew(early); grew != "" {
		t.Errorf("from the 20th to the 60th look %s", grew)
	}
}

// The log has what fails, what waits and what is noted, although nothing changes. It has the last
// two once, and not for every pass.
func TestADaemonThatCanDoNothingSaysSo(t *testing.T) {
	root := t.TempDir()
	put := func(name, conf string) {
		dir := filepath.Join(root, "etc", "cni", "net.d")
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), []byte(conf), 0o644)); err != nil {
			t.Error(err)
		}
	}
	core, log := observer.New(zap.InfoLevel)
	ctx, stop := context.WithCancelCause(t.Context())
	m := &counter{at: map[int]func(){
		5: func() { put("00-stale.conflist", "{"); put("10-calico.conflist", "{}") },
		9: func() { stop(errors.New("enough")) },
	}}
	d := Daemon{Pass: reconcile.Pass{Host: host.Options{Root: root}, Log: zap.New(core)}, Store: plainStore(t, calicoOnImage),
		Select: config.Select{Node: "node-1"}, Interval: time.Microsecond, Manager: m}
	if err := d.Run(ctx); err != nil {
		t.Fatal(err)
	}
	says := map[string]int{}
	for _, e := range log.All() {
		says[e.Message]++
	}
	if says["waiting"] != 1 {
		t.Errorf("a wait of five passes is logged %d times, want once", says["waiting"])
	}
	if notes := log.FilterMessageSnippet("has no document nodes/node-1.yaml").Len(); notes != 1 {
		t.Errorf("a note of nine passes is logged %d times, want once", notes)
	}
	if says["failed"] == 0 {
		t.Error("a pass failed, and the log does not say at what")
	}
}
