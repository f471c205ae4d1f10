package daemon

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/test/hostroot"
)

// declare writes documents for a network of this name, whose conf we write.
func (b *box) declare(t *testing.T, name, more string) {
	t.Helper()
	b.write(t, "cluster.yaml", fmt.Sprintf(`apiVersion: netwright.dev/v1alpha1
kind: Cluster
metadata: {name: demo}
spec:
  kubernetesVersion: 1.36.0
  networking:
    custom:
      title: %[1]s
      name: %[1]s
      conf: {writer: netwright, file: 10-%[1]s.conf, template: '{"cniVersion":"1.0.0","name":"%[1]s","type":"ptp"}'}
      leftovers: {files: [/etc/%[1]s/%[2]s]}
`, name, more))
}

// A node switches from one declared network to another. The agent finds the marks of the first,
// though no document names them any more. A rollback switches back.
func TestFromOneDeclaredNetworkToAnother(t *testing.T) {
	b := newBox(t)
	b.declare(t, "weft", "")
	b.pass(t, false)
	b.declare(t, "weft", ", /var/lib/weft/")
	if plan := b.pass(t, false); plan.Switch != nil { // another mark makes no other network
		t.Errorf("a switch from %s to %s", plan.Switch.From, plan.Switch.To)
	}
	for _, file := range []string{"/etc/weft/key", "/var/lib/weft/db", "/etc/weft.d/foreign", "/etc/woof/key"} {
		hostroot.Put(t, b.root, file, "x")
	}
	b.declare(t, "woof", "")
	plan := b.pass(t, true)
	if plan.Switch == nil || plan.Switch.From != "custom weft" || plan.Switch.To != "custom woof" {
		t.Fatalf("the dry run: %+v", plan.Switch)
	}
	if got := fmt.Sprint(plan.Switch.Order); !strings.Contains(got, "custom woof comes, its conf last") {
		t.Errorf("the order is %s", got)
	}
	b.pass(t, false)
	want := func(when string, has ...string) {
		t.Helper()
		for _, file := range []string{"/etc/weft/key", "/var/lib/weft/db", "/etc/weft.d/foreign", "/etc/woof/key", "/etc/cni/net.d/10-weft.conf", "/etc/cni/net.d/10-woof.conf"} {
			if is := strings.Contains(fmt.Sprint(has), file); b.has(file) != is {
				t.Errorf("%s: %s is there: %v", when, file, b.has(file))
			}
		}
	}
	want("at woof", "/etc/weft.d/foreign", "/etc/woof/key", "/etc/cni/net.d/10-woof.conf")
	if plan := b.pass(t, false); plan.Switch != nil || plan.Summary.Changes() != 0 {
		t.Errorf("the next pass switches again: %+v", plan.Switch)
	}

	if _, err := b.daemon.Pass.Rollback(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	want("back at weft", "/etc/weft.d/foreign", "/etc/cni/net.d/10-weft.conf")
	files, err := host.OpenFiles(b.daemon.Pass.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close() // only read from
	led := ledger.Load(files)
	if d, err := desired.DeclaredOf(led.Head().Network); err != nil || d.Name != "weft" {
		t.Errorf("the ledger has %+v, %v", d, err)
	}
	if _, err := desired.DeclaredOf(ledger.Network{Name: "custom", Declared: "{"}); err == nil {
		t.Error(errors.New("half a declaration is taken for one"))
	}
}

// A switch that is kept back leaves in force what was applied last. That may be a later
// configuration than the one which made the revision, if it wanted the same. The line that keeps
// it: pkg/reconcile/retain_last_revision.go, retain (Revision).
func TestAHeldSwitchKeepsWhatIsApplied(t *testing.T) {
	b := newBox(t)
	with := func(name, line string) {
		b.declare(t, name, "")
		hostroot.Put(t, b.store, "/demo/cluster.yaml", hostroot.Read(t, b.store, "/demo/cluster.yaml")+line)
	}
	with("weft", "")
	b.pass(t, false)
	with("weft", "# the same\n")
	b.pass(t, false)
	applied := b.digestNow(t)
	with("woof", "    switch: {allow: true, from: calico}\n")
	plan := b.pass(t, true)
	if s := plan.Switch; s == nil || s.Blocked == "" || plan.Digest != applied {
		t.Errorf("%+v, of %s, want %s", s, plan.Digest, applied)
	}
}
