package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/etcd"
	"github.com/netwright/netwright/test/node"
)

// An etcd that demands client certificates accepts a client with the files that the agent
// installed, and refuses one without them.
func TestCalicoCertificatesOpenEtcd(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fabric := node.NewFabric(t)
	server := etcd.Start(t, etcd.Options{Netns: fabric.Netns(), Address: node.Gateway4})
	client := server.Authority.Client("calico-client")
	spec := "  kubernetesVersion: 1.18.20\n  podCIDR: 10.244.0.0/16\n  serviceClusterIPRange: 10.96.0.0/16\n  nonMasqueradeCIDR: 10.0.0.0/8\n" +
		"  networking:\n    calico:\n      datastore: etcd\n      etcd:\n        endpoints: [" + server.Endpoint + "]\n"
	s := newStore(t, spec, map[string]string{
		"pki/issued/ca/1.crt": server.Authority.PEM, "pki/issued/calico-client/1.crt": client.Cert, "pki/private/calico-client/1.key": client.Key,
	})
	s.write(t, "nodes/node-1.yaml", document("Node", "node-1", "  nodeGroup: nodes\n"))
	s.write(t, "cluster.yaml", document("Cluster", cluster, spec+s.pluginSpec(t)))
	n := fabric.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Copies: map[string]string{"/usr/local/bin/etcdctl": server.Ctl}}))

	for _, args := range [][]string{{"--dry-run"}, {"--dry-run", "-o", "json"}, {"--once"}} {
		res := n.Run(ctx, "netwright", args...)
		if secret := strings.Split(strings.TrimSpace(client.Key), "\n")[1]; strings.Contains(res.Stdout+res.Stderr, secret) {
			t.Fatalf("%v prints the private key:\n%s", args, res.Stdout)
		}
		if args[0] == "--once" && res.Code != 0 {
			t.Fatalf("exit %d\n%s\n%s", res.Code, res.Stdout, res.Stderr)
		}
	}
	dir := "/srv/kubernetes/calico"
	for _, file := range []string{"ca.pem", "calico-client.pem", "calico-client-key.pem"} {
		if got := n.Must(ctx, "stat", "-c", "%a %U:%G %F", dir+"/"+file); got != "600 root:root regular file\n" {
			t.Errorf("%s is %q", file, got)
		}
	}
	with := []string{"--endpoints=" + server.Endpoint, "--cacert=" + dir + "/ca.pem", "--cert=" + dir + "/calico-client.pem", "--key=" + dir + "/calico-client-key.pem"}
	n.Must(ctx, "etcdctl", append(with, "put", "/calico/v1/test", "kept")...)
	health := []string{"-sS", "--cacert", dir + "/ca.pem", server.Endpoint + "/health"}
	if res := n.Run(ctx, "curl", health...); res.Code == 0 {
		t.Errorf("etcd lets a client in without a certificate: %s", res.Stdout)
	}

	// The DaemonSet has not run: the agent says so and owns no conf.
	if got := messages(plan(ctx, t, n, 0), "waiting"); !strings.Contains(got, "calico") {
		t.Errorf("waits: %q; want calico's conf", got)
	}
	if res := n.Run(ctx, "netwright", "--once", "--wait", "1s"); res.Code != 3 {
		t.Errorf("--wait ends with exit %d, want 3: still waiting", res.Code)
	}
	if out := n.Must(ctx, "ls", "/etc/cni/net.d"); out != "" {
		t.Errorf("a conf was written that is the DaemonSet's: %s", out)
	}
}
