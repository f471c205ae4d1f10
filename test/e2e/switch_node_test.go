package e2e

import (
	"testing"

	"github.com/netwright/netwright/test/node"
)

// standIn is a unit in kubelet's place. Its stop ends when /run/go is there.
const standIn = "[Service]\nExecStart=/bin/sleep infinity\nTimeoutStopSec=infinity\n" +
	"ExecStop=/bin/sh -c 'touch /run/stopping; while [ ! -e /run/go ]; do sleep 0.1; done; rm /run/stopping'\n"

// switchNode is a booted node with containerd, a unit in kubelet's place, and a network for pods.
type switchNode struct {
	*node.Node
	t       *testing.T
	fabric  *node.Fabric
	plugins string
}

func newSwitchNode(t *testing.T, networking string, agent string) switchNode {
	t.Helper()
	s := newStore(t, "", nil)
	sn := switchNode{t: t, plugins: s.pluginSpec(t)}
	s.write(t, "cluster.yaml", sn.document(networking))
	path, text := nodeDocument("node-1", "10.77.0.11", "[10.244.1.0/24]")
	s.write(t, path, text)
	files := map[string]string{"/etc/systemd/system/kubelet.service": standIn}
	if agent != "" {
		files["/etc/netwright/agent.yaml"] = "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\n" + agent
	}
	sn.fabric = node.NewFabric(t)
	sn.Node = sn.fabric.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Copies: map[string]string{"/srv/pause.tar": pauseImage(t)}, Files: files, Enable: []string{"kubelet.service"},
	}))
	ctx := t.Context()
	sn.Must(ctx, "touch", "/run/go")
	sn.Must(ctx, "ctr", "-n", "k8s.io", "images", "import", "/srv/pause.tar")
	sn.Must(ctx, "netwright", "--once")
	return sn
}

func (n switchNode) document(networking string) string {
	return document("Cluster", cluster, "  kubernetesVersion: 1.31.2\n  podCIDR: 10.244.0.0/16\n  nonMasqueradeCIDR: 10.0.0.0/8\n  networking:\n"+networking+n.plugins)
}

// wants changes the network in the store.
func (n switchNode) wants(networking string) {
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", n.document(networking), 0o644)
}

// once makes a pass with this exit code, and returns its result.
func (n switchNode) once(code int, args ...string) node.Result {
	n.t.Helper()
	res := n.Run(n.t.Context(), "netwright", append([]string{"--once"}, args...)...)
	if res.Code != code {
		n.t.Fatalf("--once %q: exit %d, want %d\n%s%s", args, res.Code, code, res.Stdout, res.Stderr)
	}
	return res
}

func (n switchNode) has(command string, args ...string) bool {
	return n.Run(n.t.Context(), command, args...).Code == 0
}

func (n switchNode) pings(pod criPod) bool { return n.has("ping", "-c1", "-w10", pod.address.String()) }

// until waits for a condition of the shell.
func (n switchNode) until(script string) {
	n.t.Helper()
	if !n.Await(n.t.Context(), script) {
		n.t.Fatalf("never: %s\n%s", script, n.Run(n.t.Context(), "sh", "-c", "ip -d addr; ls -l /etc/cni/net.d; systemctl status kubelet").Stdout)
	}
}
