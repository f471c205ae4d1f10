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

// customSpec declares a network called lab in the store. %s: the first plugin of its chain, the members of cni-plugins.
const customSpec = `  kubernetesVersion: 1.36.0
  podCIDR: 10.244.0.0/16
  nonMasqueradeCIDR: 10.0.0.0/8
  networking:
    custom:
      title: lab, a network that the agent has never heard of
      conf:
        writer: netwright
        file: 10-lab.conflist
        template: |
          {
            "cniVersion": "${CNIVersion}",
            "name": "lab",
            "plugins": [
              {%s, "mtu": ${MTU}, "ipam": {"type": "host-local", "ranges": ${Ranges}, "routes": ${Routes}}}
            ]
          }
      plugins:
      - {asset: cni-plugins, members: [%s, host-local, loopback]}
      leftovers:
        files: [/etc/cni/net.d/10-lab.conflist, "/var/lib/cni/networks/lab/", "/var/lib/cni/results/lab-*"]
`

// Pods on two nodes talk over a network that only the store knows: the agent writes its conf from the template and brings its plugins. Routes
// between the nodes are not the declaration's: somebody else has them, and the agent leaves them alone.
func TestPodsTalkOnADeclaredNetwork(t *testing.T) {
	for plugin, c := range map[string]struct {
		chain string
		route func(context.Context, *testing.T, *node.Fabric, [2]*node.Node)
	}{
		"ptp": {`"type": "ptp"`, func(ctx context.Context, _ *testing.T, _ *node.Fabric, nodes [2]*node.Node) {
			for i, n := range nodes {
				n.Must(ctx, "ip", "route", "add", podRange(1-i), "via", nodes[1-i].Address())
			}
		}},
		// The pods hang on the nodes' own link, whose router has an address in each range.
		"macvlan": {`"type": "macvlan", "master": "host0", "mode": "bridge"`, func(_ context.Context, t *testing.T, f *node.Fabric, nodes [2]*node.Node) {
			for i := range nodes {
				router := netip.MustParsePrefix(podRange(i))
				command(t, "ip", "-n", strings.TrimPrefix(f.Netns(), "/run/netns/"), "addr", "add",
					netip.PrefixFrom(router.Addr().Next(), router.Bits()).String(), "dev", "br0")
			}
			err := f.Do(func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) }) // the namespace's
			if err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(plugin, func(t *testing.T) {
			ctx := t.Context()
			fabric, nodes := twoNodes(t, fmt.Sprintf(customSpec, c.chain, plugin), node.Options{})
			var pods [2]*node.Pod
			for i, n := range nodes {
				n.Must(ctx, "netwright", "--once")
				verified(ctx, t, n, 0, `containerd has loaded network "lab" of 10-lab.conflist`)
				pods[i] = n.AddPod(ctx, "pod", node.PodOptions{})
			}
			c.route(ctx, t, fabric, nodes)
			talk(ctx, t, nodes, pods)
			if plugin == "macvlan" {
				if kind := pods[0].Must(ctx, "ip", "-d", "link", "show", "eth0"); !strings.Contains(kind, "macvlan mode bridge") {
					t.Errorf("the pod's link is another:\n%s", kind)
				}
			}
			for _, pod := range pods {
				checked(ctx, t, pod)
			}
			leave(ctx, t, nodes, pods, "/var/lib/cni/networks/lab")
		})
	}
}

// podRange is the pod CIDR of the first (0) or the second (1) of two nodes.
func podRange(i int) string { return fmt.Sprintf("10.244.%d.0/24", i+1) }

// twoNodes boots node-1 and node-2 with the agent and a store of the given cluster's spec and the real plugins.
func twoNodes(t *testing.T, spec string, extra node.Options) (*node.Fabric, [2]*node.Node) {
	t.Helper()
	s := newStore(t, spec, nil)
	s.write(t, "cluster.yaml", document("Cluster", cluster, spec+s.pluginSpec(t)))
	fabric := node.NewFabric(t)
	var nodes [2]*node.Node
	for i := range nodes {
		path, text := nodeDocument(fmt.Sprintf("node-%d", i+1), fmt.Sprintf("10.77.0.1%d", i+1), "["+podRange(i)+"]")
		s.write(t, path, text)
	}
	for i := range nodes {
		nodes[i] = fabric.Node(t, options(t, s, fmt.Sprintf("node-%d", i+1), fmt.Sprintf("10.77.0.1%d", i+1), extra))
	}
	return fabric, nodes
}

// talk holds two pods of two nodes to what pods may expect: each has an address of its node's range, reaches the other, and is seen there under
// its own address.
func talk(ctx context.Context, t *testing.T, nodes [2]*node.Node, pods [2]*node.Pod) {
	t.Helper()
	for i, pod := range pods {
		if len(pod.Addresses) != 1 || !netip.MustParsePrefix(podRange(i)).Contains(pod.Addresses[0]) {
			t.Fatalf("the pod of %s has the addresses %v, want one of %s", nodes[i].Name(), pod.Addresses, podRange(i))
		}
	}
	for i, pod := range pods {
		other := pods[1-i]
		pod.Must(ctx, "ping", "-c1", "-w60", other.Addresses[0].String())
		if seen := peerSeenBy(t, other, netip.AddrPortFrom(other.Addresses[0], 80), pod); seen != pod.Addresses[0] {
			t.Errorf("the pod of %s is seen as %s, want its own %s", nodes[i].Name(), seen, pod.Addresses[0])
		}
	}
}

// checked holds CNI CHECK to a pod as it was made, and to one whose address somebody took. The pod has none afterwards.
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

// leave deletes the pods: DEL gives their addresses back, and the agent has nothing to do when they came and went.
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
