package reconcile

import (
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/drift"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
)

// The agent writes a conf again without a limit if another program keeps changing it, and the pass
// says that the conf is contested.
func TestAContestedConfIsWrittenForEver(t *testing.T) {
	name := "/etc/cni/net.d/" + network.Named("bridge").Conf.File
	root := t.TempDir()
	pass := func() *report.Plan {
		t.Helper()
		d := wanting(file(name, "1"), tasks.Task(file("/etc/other", "1")))
		d.Pinned.Network = "bridge"
		d.Node.Drift = policy.Drift{Contested: policy.Contested{Repairs: 2, Within: values.Duration(time.Hour)}}
		p, err := onRoot(root).Converge(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	pass()
	want := []report.State{report.Done, report.Contested, report.Contested, report.Contested}
	for i, state := range want {
		hostroot.Put(t, root, name, "theirs")
		p := pass()
		if got := stateOfKey(p, "file:"+name); got != state || contentOf(t, root, name) != "1" {
			t.Fatalf("repair %d: %s, %q\n%s", i, got, contentOf(t, root, name), said(p))
		}
		ago(t, root, "file:"+name, drift.PodsPause)
	}
	if e := entryOf(t, root, "file:"+name); e.Drift.Repairs != len(want) || len(e.Drift.Recent) != 2 {
		t.Errorf("the ledger has %+v", e.Drift)
	}
	ago(t, root, "file:"+name, -drift.PodsPause) // as if it had just been repaired
	hostroot.Put(t, root, name, "theirs")
	if p := pass(); stateOfKey(p, "file:"+name) != report.Contested || contentOf(t, root, name) != "theirs" || p.Again.IsZero() || !changes.Prepared(p) {
		t.Errorf("before its time: %s, prepared %t", said(p), changes.Prepared(p))
	}
}
