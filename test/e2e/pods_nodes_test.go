package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// podRange is the pod CIDR of the first (0) or the second (1) of two nodes.
func podRange(i int) string { return fmt.Sprintf("10.244.%d.0/24", i+1) }

// twoNodes boots node-1 and node-2 with the agent, a store of this cluster's spec, and the real
// plugins. extra has further options of the first and of the second node.
func twoNodes(t *testing.T, spec string, extra ...node.Options) (*node.Fabric, [2]*node.Node) {
	t.Helper()
	fabric := node.NewFabric(t)
	return fabric, nodesOf(t, fabric, newStore(t, spec, nil), spec, extra...)
}

// nodesOf is twoNodes on an existing fabric and with an existing store.
func nodesOf(t *testing.T, fabric *node.Fabric, s store, spec string, extra ...node.Options) (nodes [2]*node.Node) {
	t.Helper()
	s.write(t, "cluster.yaml", document("Cluster", cluster, spec+s.pluginSpec(t)))
	extra = append(extra, make([]node.Options, len(nodes))...)
	for i := range nodes {
		path, text := nodeDocument(fmt.Sprintf("node-%d", i+1), fmt.Sprintf("10.77.0.1%d", i+1), "["+podRange(i)+"]")
		s.write(t, path, text)
	}
	for i := range nodes {
		nodes[i] = fabric.Node(t, options(t, s, fmt.Sprintf("node-%d", i+1), fmt.Sprintf("10.77.0.1%d", i+1), extra[i]))
	}
	return nodes
}

// routing makes the fabric a router: it is the nodes' default route.
func routing(t *testing.T, f *node.Fabric) {
	t.Helper()
	err := f.Do(func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) }) // the namespace's
	if err != nil {
		t.Fatal(err)
	}
}

// talk checks that each of two pods of two nodes has an address of its node's range, and that they
// reach each other.
func talk(ctx context.Context, t *testing.T, nodes [2]*node.Node, pods [2]*node.Pod) {
	t.Helper()
	for i, pod := range pods {
		if len(pod.Addresses) != 1 || !netip.MustParsePrefix(podRange(i)).Contains(pod.Addresses[0]) {
			t.Fatalf("the pod of %s has the addresses %v, want one of %s", nodes[i].Name(), pod.Addresses, podRange(i))
		}
	}
	reach(ctx, t, nodes, pods)
}

// reach checks that two pods of two nodes reach each other, and that each sees the other's own
// address.
func reach(ctx context.Context, t *testing.T, nodes [2]*node.Node, pods [2]*node.Pod) {
	t.Helper()
	for i, pod := range pods {
		other := pods[1-i]
		pod.Ping(ctx, other.Addresses[0].String())
		if seen := peerSeenBy(t, other, netip.AddrPortFrom(other.Addresses[0], 80), pod); seen != pod.Addresses[0] {
			t.Errorf("the pod of %s is seen as %s, want its own %s", nodes[i].Name(), seen, pod.Addresses[0])
		}
	}
}

// checked checks that CNI CHECK succeeds for the pod as it was made, and fails when the pod has
// lost its address. The pod has no address afterwards.
func checked(ctx context.Context, t *testing.T, pod *node.Pod) {
	t.Helper()
	if res := pod.Check(ctx); res.Code != 0 {
		t.Errorf("CHECK: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	pod.Must(ctx, "ip", "addr", "flush", "dev", "eth0")
	if res := pod.Check(ctx); res.Code == 0 {
		t.Error("CHECK does not miss the pod's address")
	}
}

// leave deletes the pods. DEL releases their addresses, and the agent has nothing to do then.
func leave(ctx context.Context, t *testing.T, nodes [2]*node.Node, pods [2]*node.Pod, leases string) {
	t.Helper()
	for i, n := range nodes {
		lease := leases + "/" + pods[i].Addresses[0].String()
		n.Must(ctx, "test", "-e", lease)
		pods[i].Delete(ctx)
		n.Must(ctx, "test", "!", "-e", lease)
		if res := n.Run(ctx, "netwright", "--once"); res.Code != 0 || !strings.Contains(res.Stdout, "nothing to do") {
			t.Errorf("%s: after pods came and went: exit %d\n%s\n%s", n.Name(), res.Code, res.Stdout, res.Stderr)
		}
	}
}
