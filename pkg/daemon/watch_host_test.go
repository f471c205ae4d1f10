package daemon

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/watch"
)

// While something drifts, or other programs write, the next look comes soon. The line that keeps
// it: watch_host.go, pollPause.
func TestLooksComeSoonWhereSomethingMayBeWrong(t *testing.T) {
	for name, c := range map[string]struct {
		begin func(*hostWatch)
		want  time.Duration
	}{
		"all is right":       {func(*hostWatch) {}, pollEvery},
		"something drifts":   {func(w *hostWatch) { w.drifts["file:/x"] = true }, pollSoon},
		"others write a key": {func(w *hostWatch) { w.others = []host.WriterID{{}} }, pollSoon},
	} {
		w := newHostWatch(watch.New(watch.Options{Root: t.TempDir()}), host.Options{}, zap.NewNop())
		t.Cleanup(w.close)
		if c.begin(w); w.pollPause() != c.want {
			t.Errorf("%s: the next look comes after %s, want %s", name, w.pollPause(), c.want)
		}
	}
}

// A pass holds no more of the pass before than its ledger: of many tasks there is one list and not
// two. The lines that keep it: watch_host.go, subscribe; pkg/reconcile/repair.go, Ledger.
func TestAPassHoldsTheLedgerOfTheLastOneAlone(t *testing.T) {
	_, l := watchedLoop(t)
	pass, last := l.Pass, weak.Make(l.drift.converged)
	l.drift.subscribe(&pass)
	runtime.GC()
	if pass.Before == nil || last.Value() != nil {
		t.Errorf("the ledger is %v, and the pass before is held: %t", pass.Before, last.Value() != nil)
	}
	runtime.KeepAlive(pass)
}
