package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/etcd"
	"github.com/netwright/netwright/test/node"
)

// A node of the control plane has a certificate issued by the CA of the store, and renews it long
// before its end: etcd lets its holder in all the time, the unit that runs from it is reloaded once
// each time, and no key but its own is on the node afterwards.
func TestCertificateIsIssuedAndRenewed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fabric := node.NewFabric(t)
	server := etcd.Start(t, etcd.Options{Netns: fabric.Netns(), Address: node.Gateway4})
	spec := "  kubernetesVersion: 1.31.2\n  networking:\n    calico:\n      datastore: etcd\n      etcd:\n        endpoints: [" + server.Endpoint + "]\n"
	s := newStore(t, spec, map[string]string{
		"nodegroups/nodes.yaml": document("NodeGroup", "nodes", "  role: ControlPlane\n  certificates:\n"+
			"  - {name: calico-client, source: ca, ca: ca, lifetime: 2m, names: [\"${Node}\"], reload: [consumer.service]}\n"),
		"pki/issued/ca/1.crt": server.Authority.PEM, "pki/private/ca/1.key": server.Authority.Key(),
	})
	s.write(t, "nodes/node-1.yaml", document("Node", "node-1", "  nodeGroup: nodes\n"))
	s.write(t, "cluster.yaml", document("Cluster", cluster, spec+s.pluginSpec(t)))
	const dir = "/srv/kubernetes/calico"
	put := "ETCDCTL_API=3 etcdctl --endpoints=" + server.Endpoint + " --cacert=" + dir + "/ca.pem --cert=" + dir + "/calico-client.pem --key=" + dir + "/calico-client-key.pem put /calico/v1/test kept"
	n := fabric.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Files:  map[string]string{"/etc/systemd/system/consumer.service": "[Service]\nExecStart=/bin/sleep infinity\nExecReload=/bin/sh -c 'echo reloaded >>/run/reloads'\n"},
		Copies: map[string]string{"/usr/local/bin/etcdctl": server.Ctl}}))

	if got := messages(plan(ctx, t, n, 2), "planned"); strings.Contains(got, "PRIVATE") || n.Run(ctx, "test", "-e", "/var/lib/netwright").Code == 0 {
		t.Fatalf("a dry run made something: %s", got)
	}
	n.Must(ctx, "systemctl", "start", "netwright-agent")
	eventually(ctx, t, n, "test -s "+dir+"/calico-client.pem")
	n.Shell(ctx, put)
	first := n.Must(ctx, "cat", dir+"/calico-client.pem")
	n.Must(ctx, "systemctl", "start", "consumer")
	// Twice, since who opens the three files one by one may do so while they are renamed: its next
	// attempt has one set.
	n.Start(ctx, "client", "sh", "-c", "while :; do "+put+" >/dev/null 2>&1 || "+put+" >>/run/failures 2>&1 || exit 1; echo >>/run/tries; sleep 1; done")

	eventually(ctx, t, n, "test -s /run/reloads")
	if second := n.Must(ctx, "cat", dir+"/calico-client.pem"); second == first {
		t.Error("the consumer was reloaded and the certificate is the same")
	}
	tries := n.Must(ctx, "wc", "-l", "/run/tries")
	eventually(ctx, t, n, "test \"$(wc -l /run/tries)\" != '"+strings.TrimSpace(tries)+"'") // the client works with the new one
	if got := n.Must(ctx, "sh", "-c", "cat /run/reloads; systemctl is-active client"); got != "reloaded\nactive\n" {
		t.Errorf("one renewal reloads once, and etcd answers all the time: %q\n%s", got, n.Run(ctx, "cat", "/run/failures").Stdout)
	}
	if got := n.Must(ctx, "netwright", "certs"); !strings.Contains(got, "calico-client       valid  ca ") {
		t.Errorf("agent certs does not list the certificate as valid:\n%s", got)
	}
	if got := n.Must(ctx, "stat", "-c", "%a %U:%G", dir+"/calico-client-key.pem", "/var/lib/netwright/issued/calico-client.json"); got != "600 root:root\n600 root:root\n" {
		t.Errorf("the keys are %q", got)
	}
	key := strings.Split(strings.TrimSpace(server.Authority.Key()), "\n")[1]
	if res := n.Run(ctx, "grep", "-rl", key, "/var/lib/netwright", "/srv/kubernetes", "/etc/netwright"); res.Code == 0 {
		t.Errorf("the CA's key is on the node: %s", res.Stdout)
	}
}
