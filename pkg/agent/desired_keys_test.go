package agent

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/pki"
)

// A CA's private key that a store hands to a worker is told, and is not used; on a control plane it is in its place, and a client's key anywhere.
func TestKeyOfACAOnAWorker(t *testing.T) {
	ca := pki.New(t, "etcd-ca")
	b := newIssueBench(t, ca, ownEntry)
	client := ca.Client("own")
	put(t, b.dir, "demo/pki/issued/client/1.crt", client.Cert)
	put(t, b.dir, "demo/pki/private/client/1.key", client.Key)
	if d := b.load(); len(d.Damage) > 0 || d.Keypairs["etcd-ca"].Key.IsZero() {
		t.Errorf("on a control plane: %q", d.Damage)
	}
	put(t, b.dir, "demo/nodegroups/masters.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: masters}\nspec: {role: Node}\n")
	d := b.load()
	if said := strings.Join(d.Damage, "\n"); len(d.Damage) != 1 || !strings.Contains(said, "hands out the private key of the CA etcd-ca, and this node's role is Node") || strings.Contains(said, "PRIVATE KEY") {
		t.Errorf("on a worker: %q", said)
	}
	for name, p := range d.Keypairs {
		if !p.Key.IsZero() {
			t.Errorf("the key of %s is still there", name)
		}
	}
}
