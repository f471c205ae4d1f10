package agent

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/pki"
)

// A CA's private key that a store hands to a worker is refused by the name of its file; on a control plane it is in its place, and a client's key anywhere.
func TestKeyOfACAOnAWorker(t *testing.T) {
	ca := pki.New(t, "etcd-ca")
	b := newIssueBench(t, ca, ownEntry)
	client := ca.Client("own")
	put(t, b.dir, "demo/pki/issued/client/1.crt", client.Cert)
	put(t, b.dir, "demo/pki/private/client/1.key", client.Key)
	if d := b.load(); len(d.Refused) > 0 || d.Keypairs["etcd-ca"].Key.IsZero() {
		t.Errorf("on a control plane: %q", d.Refused)
	}
	put(t, b.dir, "demo/nodegroups/masters.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: masters}\nspec: {role: Node}\n")
	d := b.load()
	said := strings.Join(d.Refused, "\n")
	for _, want := range []string{"the private key of the CA etcd-ca is refused", "this node's role is Node", "pki/private/etcd-ca/", "take it away from what workers can read"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q does not say %q", said, want)
		}
	}
	if len(d.Refused) != 1 || strings.Contains(said, "PRIVATE KEY") {
		t.Errorf("on a worker: %q", said)
	}
	for name, p := range d.Keypairs {
		if !p.Key.IsZero() {
			t.Errorf("the key of %s is still there", name)
		}
	}
	plan, err := b.pass.Converge(t.Context(), d)
	if err != nil || plan.Summary.Failed > 0 || plan.Summary.Right == 0 {
		t.Errorf("the rest of the node: %+v, %v", plan, err)
	}
	if !slices.ContainsFunc(plan.Notes, func(n report.Note) bool { return n.Level == "error" && n.Text == said }) {
		t.Errorf("notes %v", plan.Notes)
	}
	_ = filepath.WalkDir(b.root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if data, err := os.ReadFile(name); err != nil || bytes.Contains(data, []byte(ca.Key())) {
			t.Errorf("%s has the key (%v)", name, err)
		}
		return nil
	})
}
