package reconcile

import (
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/remote"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/pki"
	"github.com/netwright/netwright/test/storetest"
)

// From a store behind a network a node reads only the private key that its network needs. It does
// not read that key again when it has it.
func TestPrivateKeysFromAfar(t *testing.T) {
	needs.Root(t) // files belong to root
	authority := pki.New(t, "ca")
	client := authority.Client("calico-client")
	objects := map[string][]byte{
		"cluster.yaml": []byte("apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: " + storetest.Cluster + "}\nspec:\n  kubernetesVersion: 1.36.0\n" +
			"  networking:\n    calico: {datastore: etcd, etcd: {endpoints: [\"https://10.0.0.1:2379\"]}}\n  assets: []\n"),
		"pki/issued/ca/1.crt": []byte(authority.PEM), "pki/issued/calico-client/1.crt": []byte(client.Cert),
		"pki/private/calico-client/1.key": []byte(client.Key), "pki/private/other/1.key": []byte("nobody's"),
	}
	source, root := new(storetest.MapStore), t.TempDir()
	for name, data := range storetest.Publication(1, objects, true) {
		source.Set(name, data)
	}
	hostroot.Put(t, root, "/etc/cni/net.d/10-calico.conflist", `{"name": "k8s-pod-network", "plugins": [{"type": "calico"}]}`)
	for i, want := range []int{3, 1} { // manifest, bundle, key; a new process knows the key already
		pass := onRoot(root)
		store := remote.New(source, storetest.Cluster, nil)
		if err := pass.Remember(store); err != nil {
			t.Fatal(err)
		}
		d, err := desired.Load(t.Context(), store, config.Select{Node: "n"}, statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		if asked := source.Gets(); len(asked) != want {
			t.Errorf("begin %d: asked for %q, want %d", i+1, asked, want)
		}
		if p, err := pass.Converge(t.Context(), d); err != nil {
			t.Fatal(err, said(p))
		}
		if hostroot.Read(t, root, "/srv/kubernetes/calico/calico-client-key.pem") != client.Key {
			t.Error("the key is not there")
		}
	}
}
