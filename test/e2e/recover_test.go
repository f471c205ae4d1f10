package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/pki"
)

// A power cut came between two renames of a set of certificates, and the store does not answer. The
// boot completes the set before containerd starts. The lines that keep it:
// pkg/host/hostfs/batch_intents.go, recoverSets; the order in systemd/netwright-recover.service.
func TestTheBootCompletesACertificateSet(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	old, fresh := pki.New(t, "old"), pki.New(t, "new")
	was, comes := old.Client("calico-client"), fresh.Client("calico-client")
	spec := "  kubernetesVersion: 1.18.20\n  podCIDR: 10.244.0.0/16\n  serviceClusterIPRange: 10.96.0.0/16\n  nonMasqueradeCIDR: 10.0.0.0/8\n" +
		"  networking:\n    calico:\n      datastore: etcd\n      etcd:\n        endpoints: [\"https://10.77.0.1:2379\"]\n"
	s := newStore(t, spec, map[string]string{
		"pki/issued/ca/1.crt": old.PEM, "pki/issued/calico-client/1.crt": was.Cert, "pki/private/calico-client/1.key": was.Key,
	})
	s.write(t, "nodes/node-1.yaml", document("Node", "node-1", "  nodeGroup: nodes\n"))
	s.write(t, "cluster.yaml", document("Cluster", cluster, spec+s.pluginSpec(t)))
	unit, err := os.ReadFile("../../systemd/netwright-recover.service")
	if err != nil {
		t.Fatal(err)
	}
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Files: map[string]string{"/etc/systemd/system/netwright-recover.service": string(unit)},
	}))
	n.Must(ctx, "netwright", "--once")

	// A run that dies after the first of three renames leaves this.
	const dir, token = "/srv/kubernetes/calico/", ".netwright-ABCDEFGHIJ-0000000"
	var files []string
	for i, f := range []struct{ name, content string }{{"ca.pem", fresh.PEM}, {"calico-client.pem", comes.Cert}, {"calico-client-key.pem", comes.Key}} {
		staged := fmt.Sprint(token, i+1)
		n.Write(dir+staged, f.content, 0o600)
		entry, err := json.Marshal(map[string]any{
			"path": dir + f.name, "staged": staged, "sum": fmt.Sprintf("%x", sha256.Sum256([]byte(f.content))), "size": len(f.content), "mode": 0o600, "uid": 0, "gid": 0,
		})
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(entry))
	}
	n.Shell(ctx, "cd "+dir+"; mv ca.pem x; mv "+token+"1 ca.pem; mv x "+token+"1")
	n.Write("/var/lib/netwright/batch-ABCDEFGHIJ-00000001.json", `{"version":1,"files":[`+strings.Join(files, ",")+"]}", 0o600)
	n.Shell(ctx, "mv /srv/netwright /srv/away; systemctl enable -q netwright-recover.service; sync")
	n.Reboot(ctx)

	for name, content := range map[string]string{"ca.pem": fresh.PEM, "calico-client.pem": comes.Cert, "calico-client-key.pem": comes.Key} {
		if n.Read(dir+name) != content {
			t.Errorf("%s is not the new one", name)
		}
	}
	if left := n.Shell(ctx, "ls -A "+dir+"; ls /var/lib/netwright | grep batch || true"); strings.Contains(left, ".netwright") || strings.Contains(left, "batch") {
		t.Errorf("left: %s", left)
	}
	order := n.Shell(ctx, `show() { systemctl show -p "$2" --value "$1"; }
		[ "$(show netwright-recover Result)" = success ] && [ "$(show netwright-recover ExecMainExitTimestampMonotonic)" -gt 0 ] &&
		[ "$(show netwright-recover ExecMainExitTimestampMonotonic)" -lt "$(show containerd ExecMainStartTimestampMonotonic)" ] && echo before || systemctl status netwright-recover`)
	if order != "before\n" {
		t.Errorf("it did not run before containerd:\n%s", order)
	}
}
