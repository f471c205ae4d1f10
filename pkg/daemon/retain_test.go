package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
)

// elsewhere has documents that do not fit any machine of this cloud.
const elsewhere = "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nspec:\n  kubernetesVersion: 1.36.0\n  cloudProvider: gce\n  networking: {amazonVPC: {}}\n"

// TestDocumentsForAnotherHostChangeNothing: documents that cannot be built for this host leave a
// node that converged before as it is, and the agent goes on repairing it.
func TestDocumentsForAnotherHostChangeNothing(t *testing.T) {
	b := newBox(t)
	b.live(t, func(t *testing.T) {
		b.write(t, "cluster.yaml", elsewhere)
		if err := os.Remove(filepath.Join(b.root, conflist)); err != nil {
			t.Fatal(err)
		}
		later(12 * time.Minute)
		if !b.has(conflist) {
			t.Error("drift was not repaired while the documents could not be applied")
		}
		if last := b.manager.last(t); !strings.Contains(last.text, "the agent keeps revision 1 in force") || !strings.Contains(last.text, "bridge: ") {
			t.Errorf("the status does not say what the node has, and why: %q", last.text)
		}
		if n := b.logged("the pass failed"); n != 1 {
			t.Errorf("logged %d times, want once", n)
		}
	})
	again := *b
	again.manager = &manager{}
	again.daemon.Manager = again.manager
	again.live(t, func(t *testing.T) { // as after a reboot: kubelet waits for READY
		if again.manager.count("ready") != 1 {
			t.Errorf("a node that works is not prepared: %+v", again.manager.words())
		}
	})
}

func TestDocumentsForAnotherHostAreSaid(t *testing.T) {
	b := newBox(t)
	load := func() *desired.State {
		t.Helper()
		d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if _, err := b.daemon.Pass.Converge(t.Context(), load()); err != nil {
		t.Fatal(err)
	}
	b.write(t, "cluster.yaml", elsewhere)
	plan, err := b.daemon.Pass.DryRun(t.Context(), load())
	if err == nil || plan == nil || plan.Summary.Changes() != 0 || plan.Network != "bridge" || !saidIn(plan, "warning", "the agent keeps revision 1 in force, because sha256 ") {
		t.Errorf("the dry run: %+v, %v", plan, err)
	}
	if plan, err = b.daemon.Pass.Converge(t.Context(), load()); err == nil || changes.BesidesTasks(err) == nil || plan == nil || plan.Summary.Changes() != 0 {
		t.Errorf("the pass: %+v, %v", plan, err)
	}
	for _, want := range []string{"use amazonVPC (cluster.yaml:7:16)", "the cloud is gce (cluster.yaml:6:3)"} {
		if err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: does not say %q", err, want)
		}
	}

	fresh := newBox(t)
	fresh.write(t, "cluster.yaml", elsewhere)
	d, err := desired.Load(t.Context(), fresh.daemon.Store, fresh.daemon.Select, statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	if plan, err := fresh.daemon.Pass.Converge(t.Context(), d); err == nil || plan != nil || fresh.has("/etc/cni") || fresh.has("/var/lib/netwright") {
		t.Errorf("a fresh node: %+v, %v", plan, err)
	}
}

// saidIn says whether a plan has a note with these words.
func saidIn(plan *report.Plan, level, words string) bool {
	for _, n := range plan.Notes {
		if n.Level == level && strings.Contains(n.Text, words) {
			return true
		}
	}
	return false
}
