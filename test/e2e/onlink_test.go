package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// A pod CIDR in the node's own subnet is refused, both a peer's and the node's own. Everything else
// is applied: the node still reaches a machine of that part of the subnet, which no probe asks. The
// lines that keep it: pkg/model/network/bridge_routes.go, onLink; pkg/model/network/bridge.go,
// buildBridge.
func TestPodsInTheSubnetOfALink(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{"/etc/netwright/agent.yaml": agentFile("9s")}}))
	n.Shell(ctx, "netwright --once || netwright --once")
	n.Must(ctx, "ping", "-c1", "-w20", nearAddress)

	const sysctl = "  sysctlParameters: [net.ipv4.ip_default_ttl=66]\n"
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(good, "    bridge: {}\n",
		"    bridge: {nodes: [{name: peer, address: 10.77.0.99, podCIDRs: ["+nearAddress+"/30]}]}\n"+sysctl, 1), 0o644)
	peers := n.Run(ctx, "netwright", "--once")
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(good, "  networking:\n", strings.Replace(sysctl, "66", "67", 1)+"  networking:\n", 1), 0o644)
	n.Write("/srv/netwright/"+cluster+"/nodes/node-1.yaml", goodNode("[10.77.0.16/28, fd00:10:244:1::/64]"), 0o644)
	own := n.Run(ctx, "netwright", "--once")
	for _, c := range []struct {
		pods string
		node.Result
	}{{nearAddress + "/30", peers}, {"10.77.0.16/28", own}} {
		want := "refused: " + c.pods + " lies in 10.77.0.0/24, the subnet of this node's link host0"
		if said := c.Stdout + c.Stderr; c.Code != 1 || !strings.Contains(said, want) {
			t.Errorf("exit %d, want %q:\n%s", c.Code, want, said)
		}
	}
	if now := n.Shell(ctx, "sysctl -n net.ipv4.ip_default_ttl; ip route get "+nearAddress+"; ip address show cbr0"); !strings.HasPrefix(now, "67\n"+nearAddress+" dev host0 ") || strings.Contains(now, "10.77.0.17") {
		t.Errorf("after both:\n%s", now)
	}
	n.Must(ctx, "ping", "-c1", "-w20", nearAddress)

	// With the same range as spec.podCIDR, it is accepted.
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(strings.Replace(good, "10.244.0.0/16", "10.77.0.128/25", 1), "    bridge: {}\n",
		"    bridge: {nodes: [{name: peer, address: 10.77.0.99, podCIDRs: [10.77.0.248/29]}]}\n", 1), 0o644)
	n.Write("/srv/netwright/"+cluster+"/nodes/node-1.yaml", goodNode("[10.77.0.240/29, fd00:10:244:1::/64]"), 0o644)
	res := n.Run(ctx, "netwright", "--once")
	if now := n.Shell(ctx, "ip route show 10.77.0.248/29; ip address show cbr0"); res.Code != 0 || !strings.Contains(now, "via 10.77.0.99") || !strings.Contains(now, "10.77.0.241/29") {
		t.Errorf("exit %d:\n%s%s\n%s", res.Code, res.Stdout, res.Stderr, now)
	}
}
