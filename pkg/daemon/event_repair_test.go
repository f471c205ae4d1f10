package daemon

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host/watch"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
)

// watchedLoop returns a loop that has made its first pass and watches files.
func watchedLoop(t *testing.T) (*box, *loop) {
	t.Helper()
	b := newBox(t)
	var core zapcore.Core
	core, b.log = observer.New(zapcore.DebugLevel)
	b.daemon.Pass.Log = zap.New(core)
	b.daemon.Watcher = watch.New(watch.Options{Root: b.root})
	l := newLoop(b.daemon)
	t.Cleanup(l.drift.close)
	l.status.begin(b.daemon, l.turn.daemon)
	var err error
	if l.desired, err = desired.Load(t.Context(), l.Store, config.Select{Node: "n"}, statestore.Revision{}); err != nil {
		t.Fatal(err)
	}
	l.round(t.Context(), trigger{cause: "start"})
	l.round(t.Context(), l.drift.take()) // take what the first pass caused
	if l.drift.converged == nil {
		t.Fatal("a pass that made everything right leaves nothing to stand on")
	}
	return b, l
}

// listened waits for an event, and returns false after a time without one.
func listened(l *loop, within time.Duration) bool {
	select {
	case <-l.drift.events():
		return true
	case <-time.After(within):
		return false
	}
}

// Somebody writes a file. The daemon repairs it at the event, without a pass. The event of the
// repair itself causes no pass. The next pass reports the repair. An event for a path that belongs
// to no key causes a pass. The lines that keep it: loop.go, repair; watch_host.go, takeEvents,
// repairedSome and withRepairs.
func TestAnEventIsRepairedByItself(t *testing.T) {
	b, l := watchedLoop(t)
	passes, path := l.status.now.Totals.Passes, filepath.Join(b.root, conflist)
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	for within := time.Minute; listened(l, within); within = time.Second { // of the write and of the repair
		l.repair(t.Context())
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(want) {
		t.Fatalf("it is %q, %v: %+v", now, err, b.log.FilterMessage("not repaired by itself").All())
	}
	if n := l.status.now.Totals; n.Passes != passes || n.Repairs != 0 || len(l.drift.repaired) != 1 || l.drift.awaited {
		t.Errorf("%+v after %d passes, %d repairs are to be told, a pass is awaited: %t", n, passes, len(l.drift.repaired), l.drift.awaited)
	}
	if wait := time.Until(l.drift.passAt); l.drift.passAt.IsZero() || wait > passDelay {
		t.Errorf("a pass looks %s later, want %s after the repair", wait, passDelay)
	}
	l.round(t.Context(), l.drift.take())
	if n := l.status.now; n.Totals.Repairs != 1 || n.Last.Repairs != 1 || n.Last.Cause != "the host changed: files" || len(l.drift.repaired) != 0 || !l.drift.passAt.IsZero() {
		t.Errorf("the pass after it: %+v, %+v", n.Totals, n.Last)
	}

	if err := os.RemoveAll(filepath.Join(b.root, "etc/cni")); err != nil {
		t.Fatal(err)
	}
	for !l.drift.awaited && listened(l, time.Minute) {
		l.repair(t.Context())
	}
	if !l.drift.awaited {
		t.Error("a directory on the way to a key went, and no pass is asked for")
	}
}
