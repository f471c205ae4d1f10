package network

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/tasks"
)

// etcdInput returns a node of Calico with etcd whose documents have these certificates.
func etcdInput(t *testing.T, certificates string) Input {
	t.Helper()
	node, diags := config.Load(tasks.DriftKinds(), []document.Source{{Path: "cluster.yaml", Data: fmt.Appendf(nil, `
apiVersion: netwright.dev/v1alpha1
kind: Cluster
metadata: {name: demo.example.com}
spec:
  kubernetesVersion: 1.31.2
  networking:
    calico: {datastore: etcd, etcd: {endpoints: ["https://10.0.0.9:2379"], certificates: {%s}}}
`, certificates)}}, config.Select{Node: "node-1"})
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	return Input{Node: node, Keypairs: map[string]Keypair{
		"calico-client":   {CA: []byte("its own"), Cert: []byte("CERT"), Key: secret.New("KEY")},
		"ca":              {CA: []byte("the cluster's")},
		"etcd-clients-ca": {CA: []byte("etcd's")},
	}}
}

func TestEtcdTrustsTheCAThatIsNamed(t *testing.T) {
	for certificates, want := range map[string]string{"": "its own", "ca: ca": "the cluster's", "ca: etcd-clients-ca": "etcd's"} {
		var b Built
		if err := b.addEtcd(etcdInput(t, certificates)); err != nil {
			t.Errorf("{%s}: %v", certificates, err)
			continue
		}
		for _, task := range b.Tasks {
			if set, ok := task.(tasks.CertificateSet); ok && string(set.CA.PEM) != want {
				t.Errorf("{%s}: trusts %q, want %q", certificates, set.CA.PEM, want)
			}
		}
	}
	var b Built
	if err := b.addEtcd(etcdInput(t, "ca: none")); err == nil || !strings.Contains(err.Error(), "no CA none") {
		t.Errorf("a CA that is not in the store: %v", err)
	}
}
