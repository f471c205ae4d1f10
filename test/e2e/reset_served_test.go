package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// Docker starts on a node that already forwards since netwright set it, and so does not set
// forwarding itself. While containers send packets through Docker's bridge, a reset leaves
// forwarding on and says so. Without containers it restores the value from before. The line that
// keeps it: pkg/reset/served_bridges.go, servedBridge.
func TestResetLeavesForwardingToContainers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := node.NewFabric(t)
	for i, name := range []string{"containers", "none"} {
		n := f.Node(t, options(t, bridgeStore(t), []string{"node-1", "node-2"}[i], []string{"10.77.0.11", "10.77.0.12"}[i], node.Options{}))
		n.Must(ctx, "sysctl", "-qw", "net.ipv4.ip_forward=0")
		n.Must(ctx, "netwright", "--once")
		n.Shell(ctx, `ip link add br-other type bridge; ip addr add 172.17.0.1/16 dev br-other; ip link set br-other up`)
		want := "0\n"
		if name == "containers" {
			n.Shell(ctx, `ip netns add c; ip link add vc type veth peer name eth0 netns c; ip link set vc master br-other up`)
			want = "1\n"
		}
		out := n.Must(ctx, "netwright", "reset")
		if got := n.Must(ctx, "sysctl", "-n", "net.ipv4.ip_forward"); got != want || strings.Contains(out, "net.ipv4.ip_forward stays: br-other is not") != (name == "containers") {
			t.Errorf("%s: net.ipv4.ip_forward is %s\n%s", name, got, out)
		}
	}
}
