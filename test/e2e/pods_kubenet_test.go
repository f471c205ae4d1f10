package e2e

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// Pods on two nodes reach each other by kubenet, one node with containerd 1, the other with
// containerd 2. Each containerd renders the agent's template when kubelet tells it the node's
// range. The nodes have no routes to each other's pods: the cloud's router has them.
func TestPodsTalkByKubenet(t *testing.T) {
	t.Parallel()
	talkByTemplate(t, "kubenet: {}", "", containerd2(t, imports))
}

// The same with alias ranges of the nodes' interfaces, which Google's network routes.
func TestPodsTalkByAliases(t *testing.T) {
	t.Parallel()
	talkByTemplate(t, "gcp: {}", "  cloudProvider: gce\n", node.Options{})
}

func talkByTemplate(t *testing.T, network, more string, second node.Options) {
	t.Helper()
	ctx := t.Context()
	fabric, nodes := twoNodes(t, strings.Replace(bridgeSpec, "bridge: {}", network, 1)+more, node.Options{}, second)
	routing(t, fabric)
	var pods [2]*node.Pod
	for i, n := range nodes {
		command(t, "ip", "-n", strings.TrimPrefix(fabric.Netns(), "/run/netns/"), "route", "add", podRange(i), "via", n.Address())
		if res := n.Run(ctx, "netwright", "--once", "--wait", "1s"); res.Code != 3 {
			t.Errorf("%s: before kubelet --wait ends with exit %d, want 3\n%s%s", n.Name(), res.Code, res.Stdout, res.Stderr)
		}
		tellPodCIDR(t, n, podRange(i))
		n.Must(ctx, "netwright", "--once", "--wait", "1m")
		verified(ctx, t, n, 0, `containerd has loaded network "k8s-pod-network" of 10-containerd-net.conflist`)
		pods[i] = n.AddPod(ctx, "pod", node.PodOptions{Ports: []node.HostPort{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}}})
	}
	talk(ctx, t, nodes, pods)
	for i, n := range nodes {
		if route := n.Must(ctx, "ip", "route", "get", pods[1-i].Addresses[0].String()); !strings.Contains(route, "via "+node.Gateway4) {
			t.Errorf("%s has a route to the other's pods: %s", n.Name(), route)
		}
		if seen := peerSeenBy(t, fabric, netip.AddrPortFrom(netip.MustParseAddr(node.Outside4), 80), pods[i]); seen.String() != n.Address() {
			t.Errorf("a host outside sees %s, want the node's %s", seen, n.Address())
		}
		hostPort(t, fabric, pods[i], netip.AddrPortFrom(netip.MustParseAddr(n.Address()), 8080))
		checked(ctx, t, pods[i])
	}
	proved(ctx, t, network, nodes)
	leave(ctx, t, nodes, pods, "/var/lib/cni/networks/k8s-pod-network")
}
