package reconcile

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/pki"
)

// A node leaves calico with its etcd for a network that its owner sets up. It keeps the
// certificates, since calico's pods may still use them, and the switch reports why. Later passes do
// not report it again. The same holds for a switch to another network, although calico's other
// leftovers are removed. The lines that keep it: pkg/reconcile/ownership/ledger_entries.go, enter
// (RetainOnRelease); pkg/reconcile/ownership/removals.go, sort (Retained);
// pkg/reconcile/migrate/find_residue.go, reach (Keep).
func TestCertificatesOutliveCalico(t *testing.T) {
	needs.Root(t) // files belong to root
	for name, next := range map[string]string{"cni": "cni: {}", "cilium": "cilium: {}\n    switch: {allow: true}"} {
		t.Run(name, func(t *testing.T) {
			authority := pki.New(t, "ca")
			client := authority.Client("calico-client")
			root, dir := t.TempDir(), t.TempDir()
			document := func(networking string) {
				hostroot.Put(t, dir, "demo/cluster.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nspec:\n  kubernetesVersion: 1.36.0\n  networking:\n    "+networking+"\n  assets: []\n")
			}
			hostroot.Put(t, dir, "demo/pki/issued/ca/1.crt", authority.PEM)
			hostroot.Put(t, dir, "demo/pki/issued/calico-client/1.crt", client.Cert)
			hostroot.Put(t, dir, "demo/pki/private/calico-client/1.key", client.Key)
			hostroot.Put(t, root, "/etc/cni/net.d/10-calico.conflist", `{"name": "k8s-pod-network", "plugins": [{"type": "calico"}]}`)
			document("calico: {datastore: etcd, etcd: {endpoints: [\"https://10.0.0.1:2379\"]}}")
			pass := func() (string, error) {
				store, err := stores.Open(dir, "demo", stores.Options{})
				if err != nil {
					t.Fatal(err)
				}
				d, err := desired.Load(t.Context(), store, config.Select{Node: "n"}, statestore.Revision{})
				if err != nil {
					t.Fatal(err)
				}
				p, err := onRoot(root).Converge(t.Context(), d)
				if p == nil {
					t.Fatal(err)
				}
				return said(p), err
			}
			if out, err := pass(); err != nil {
				t.Fatal(err, out)
			}
			const key = "/srv/kubernetes/calico/calico-client-key.pem"
			before := hostroot.Read(t, root, key)

			document(next)
			out, _ := pass() // this store has no plugins, which is another matter
			if !strings.Contains(out, key+" is no longer wanted and stays: pods of a former network may still need it, and its removal would cut them off") {
				t.Errorf("it does not say why the certificates stay:\n%s", out)
			}
			if hostroot.Read(t, root, key) != before || !hostroot.There(root, filepath.Dir(key)+"/ca.pem") {
				t.Error("the certificates are not as they were")
			}
			if out, _ := pass(); strings.Contains(out, "stays: pods of a former") {
				t.Errorf("the next pass says it again:\n%s", out)
			}
		})
	}
}
