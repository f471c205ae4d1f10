package reset

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/revert"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
)

// After a reset that was undone the ledger is as before: its entries, the node's network, and the
// mark that it fits the host. The line that keeps it: phases.go, remember.
func TestAResetThatWasUndoneIsForgotten(t *testing.T) {
	needs.Root(t) // files belong to root
	root, ctx := t.TempDir(), t.Context()
	file := func(path string) tasks.File { return tasks.File{Path: path, Content: []byte("1"), Mode: 0o644} }
	want := []tasks.Task{file("/etc/systemd/network/10-x.network"), file("/etc/kept")}
	pass := reconcile.Pass{Host: host.Options{Root: root}, Log: zap.NewNop()}
	if _, err := pass.Converge(ctx, desired.FromTasks("node", want)); err != nil {
		t.Fatal(err)
	}
	ledgerNow := func() *ledger.Ledger {
		led, err := pass.Session().LoadLedger()
		if err != nil {
			t.Fatal(err)
		}
		return led
	}
	led := ledgerNow()
	entries, head := maps.Clone(led.Entries()), led.Head()
	h, err := host.Open(ctx, host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r, err := Reset{Session: pass.Session()}.plan(ctx, h.Live.View(), led)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.remember("ada, by reset")
	if err == nil {
		_, err = r.ownership.Intend(ctx, h, changes.NewSet(), true)
	}
	if err == nil { // another process does not know what the reset removed from the ledger
		err = led.Commit(ctx, h.Files, ledger.Batch{Head: led.Head(), Drop: want[0].Owns()})
	}
	if err == nil {
		err = revert.Recorder(nil)(ctx, h, raw, checkpoint.Verdict{Why: "tcp:x (no answer)", At: time.Now()})
	}
	if err != nil {
		t.Fatal(err)
	}
	led = ledgerNow()
	now, headNow := led.Entries(), led.Head()
	if diff := cmp.Diff(entries, now); diff != "" || headNow != head || head.Network.Name == "" {
		t.Errorf("the ledger has %+v, before %+v; entries (-before +after):\n%s", headNow, head, diff)
	}
}
