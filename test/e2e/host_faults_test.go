package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// The disk of the agent's state is full, a file of ours is a link to itself, and the network is gone. All that is needed comes back, READY with it, and each fault is
// told. With room again all is well.
func TestFaultsOfTheHostHoldNothingUp(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	s.write(t, "cluster.yaml", document("Cluster", cluster, bridgeSpec+s.pluginSpec(t)+"  fileAssets:\n  - {path: /etc/looped, content: ours, mode: \"0644\"}\n"))
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Files: map[string]string{"/etc/netwright/agent.yaml": "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\ninterval: 5s\n"},
	}))
	n.Must(ctx, "netwright", "--once")
	const (
		file  = "/etc/looped"
		fill  = "/var/lib/netwright/fill"
		broke = "sysctl -qw net.ipv4.ip_forward=0; ip link del cbr0; rm " + file + "; ln -s looped " + file
		right = "[ $(sysctl -n net.ipv4.ip_forward) = 1 ] && ip addr show cbr0 | grep -q 10.244.1.1/24 && grep -q ours " + file
	)
	n.Shell(ctx, "cp -a /var/lib/netwright /root/state; mount -t tmpfs -o mode=0700,size=64m state /var/lib/netwright; cp -a /root/state/. /var/lib/netwright; head -c 100m /dev/zero >"+fill+" || true")
	n.Shell(ctx, broke)
	n.Must(ctx, "systemctl", "restart", "netwright-agent") // which returns when it is READY
	until(t, n, "all is right on a full disk", right)
	if log := n.Shell(ctx, "journalctl -b -o cat -u netwright-agent"); !strings.Contains(log, "prepared: kubelet may start") {
		t.Errorf("kubelet was held back:\n%s", log)
	}
	until(t, n, "the full disk is told", `grep -q '"state": *"failing"' /run/netwright/status.json && grep -q 'no space left' /run/netwright/status.json`)

	n.Shell(ctx, broke)
	until(t, n, "all is right again on a full disk", right)
	n.Must(ctx, "rm", fill)
	until(t, n, "nothing is told when there is room", `grep -q '"state": *"converged"' /run/netwright/status.json`)
	n.Must(ctx, "netwright", "--dry-run")
}
