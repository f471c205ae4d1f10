package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/rollout"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/test/hostroot"
)

// A machine whose name has changed keeps what it has, at each pass, and says why. Nothing for the
// other name is made. A person may allow it. The name in the ledger of an image does not count for
// a machine that boots from the image.
func TestAnotherNameTakesNothingAway(t *testing.T) {
	b := newBox(t)
	pass := b.daemon.Pass
	pass.UpdatesAnywhere = true
	machine := filepath.Join(b.root, "etc/machine-id")
	hostroot.Put(t, b.root, "/etc/machine-id", "one\n")
	hostroot.Put(t, b.root, "/proc/sys/kernel/random/boot_id", "boot\n")
	b.write(t, "nodes/n.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: n}\nspec: {address: 10.0.0.1, podCIDRs: [100.96.1.0/24]}\n")
	b.write(t, "nodegroups/g.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: g}\nspec:\n  fileAssets: [{path: /etc/ours, content: ours}]\n")
	b.write(t, "nodegroups/other.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: other}\nspec: {}\n")
	run := func(sel config.Select) (*report.Plan, error) {
		t.Helper()
		d, err := desired.Load(t.Context(), b.daemon.Store, sel, statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		return pass.Converge(t.Context(), d)
	}
	ours := func() bool { return b.has("/etc/ours") }
	own := config.Select{Node: "n", Group: "g"}
	if _, err := run(own); err != nil || !ours() {
		t.Fatalf("the first pass: %v", err)
	}
	if err := os.Remove(filepath.Join(b.root, "etc/ours")); err != nil { // the agent repairs it also under another name
		t.Fatal(err)
	}
	for name, sel := range map[string]config.Select{"another name": {Node: "m", Group: "other"}, "a group alone": {Node: "n-1", Group: "g"}, "another group": {Node: "n", Group: "other"}} {
		for range 2 {
			sel.NodeFrom, sel.GroupFrom = "agent.yaml:2:7", "agent.yaml:3:12"
			_, err := run(sel)
			var renamed *rollout.RenamedError
			if !errors.As(err, &renamed) || !ours() || !strings.Contains(err.Error(), map[string]string{"node": " now by agent.yaml:2:7,", "node group": " now by agent.yaml:3:12,"}[renamed.Kind]) {
				t.Errorf("%s: %v; /etc/ours is there: %t", name, err, ours())
			}
		}
	}
	if err := os.WriteFile(machine, []byte("two\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run(config.Select{Node: "m", Group: "other"}); err != nil || ours() {
		t.Errorf("another machine, from an image of this: %v; /etc/ours is there: %t", err, ours())
	}
	pass.AllowDisruptive = true
	if _, err := run(own); err != nil || !ours() {
		t.Errorf("allowed: %v; /etc/ours is there: %t", err, ours())
	}
	if text := (&rollout.RenamedError{Kind: "node", Was: "n", Is: "m"}).Error(); !strings.Contains(text, "--allow-disruptive") {
		t.Errorf("the error does not name --allow-disruptive: %s", text)
	}
}

// A machine that a rollback holds keeps what its revision has, by whatever name; a pass says so
// where that is made for another. The line that keeps it: pkg/reconcile/desired/pinned.go, Target.
func TestAHeldMachineHearsOfItsOtherName(t *testing.T) {
	b := newBox(t)
	pass := b.daemon.Pass
	pass.UpdatesAnywhere = true
	hostroot.Put(t, b.root, "/etc/machine-id", "one\n")
	hostroot.Put(t, b.root, "/proc/sys/kernel/random/boot_id", "boot\n")
	b.write(t, "nodegroups/g.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: g}\nspec: {}\n")
	run := func(node string) (said bool) {
		t.Helper()
		d, err := desired.Load(t.Context(), b.daemon.Store, config.Select{Node: node, Group: "g"}, statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := pass.Converge(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(plan.Notes, func(n report.Note) bool {
			return strings.Contains(n.Text, `this machine is called "m", and revision 1 was made for node n`)
		})
	}
	run("n")
	if _, err := pass.Rollback(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if run("n") || !run("m") {
		t.Error("a pass that is held says of another name by its own, or does not by another")
	}
}

// Machines whose documents want the same of each have it under their own names: one that boots from
// the disk of another or from an image, and one that somebody let go by another name. No later pass
// takes them for the former. The lines that keep it: pkg/reconcile/ownership/number_revisions.go,
// revise (Baked, Renamed, Node); pkg/reconcile/ownership/commit.go, Commit (Renamed).
func TestTheSameSetUnderAnotherName(t *testing.T) {
	for name, c := range map[string]struct {
		was, is string // machine-ids
		allowed bool
	}{
		"the disk of another machine":  {"one\n", "two\n", false},
		"an image":                     {"", "two\n", false},
		"a person allows the new name": {"one\n", "one\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(t, "cluster.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nspec: {kubernetesVersion: 1.36.0, networking: {calico: {}}}\n")
			b.write(t, "nodegroups/g.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: g}\nspec: {}\n")
			run := func(node, machine, boot string, allowed bool) {
				t.Helper()
				hostroot.Put(t, b.root, "/etc/machine-id", machine)
				hostroot.Put(t, b.root, "/proc/sys/kernel/random/boot_id", boot)
				pass := b.daemon.Pass
				pass.UpdatesAnywhere, pass.AllowDisruptive = boot != "", allowed
				d, err := desired.Load(t.Context(), b.daemon.Store, config.Select{Node: node, Group: "g"}, statestore.Revision{})
				if err == nil {
					_, err = pass.Converge(t.Context(), d)
				}
				if err != nil {
					t.Errorf("%s: Load returns %v", node, err)
				}
			}
			first := "first\n"
			if c.was == "" {
				first = ""
			}
			run("n", c.was, first, false)
			run("m", c.is, "second\n", c.allowed)
			run("m", c.is, "second\n", false)
			run("m", c.is, "third\n", false)
			files, err := host.OpenFiles(b.daemon.Pass.Host)
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close() // only read from
			if rev, err := ledger.ReadRevision(files, ledger.Load(files).Head().Current); err != nil || rev.Node != "m" {
				t.Errorf("the revision: %+v, %v", rev, err)
			}
		})
	}
}
