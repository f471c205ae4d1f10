package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// customSpec declares a network called lab in the store. %s stands for the first plugin of its
// chain and for the members of cni-plugins.
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

// Pods on two nodes reach each other over a network that only the store declares. The agent writes
// its conf from the template and installs its plugins. The declaration has no routes between the
// nodes. Another program makes them, and the agent leaves them alone.
func TestPodsTalkOnADeclaredNetwork(t *testing.T) {
	t.Parallel()
	for plugin, c := range map[string]struct {
		chain string
		route func(context.Context, *testing.T, *node.Fabric, [2]*node.Node)
	}{
		"ptp": {`"type": "ptp"`, func(ctx context.Context, _ *testing.T, _ *node.Fabric, nodes [2]*node.Node) {
			for i, n := range nodes {
				n.Must(ctx, "ip", "route", "add", podRange(1-i), "via", nodes[1-i].Address())
			}
		}},
		// The pods are on the nodes' own link, whose router has an address in each range.
		"macvlan": {`"type": "macvlan", "master": "host0", "mode": "bridge"`, func(_ context.Context, t *testing.T, f *node.Fabric, nodes [2]*node.Node) {
			for i := range nodes {
				router := netip.MustParsePrefix(podRange(i))
				command(t, "ip", "-n", strings.TrimPrefix(f.Netns(), "/run/netns/"), "addr", "add",
					netip.PrefixFrom(router.Addr().Next(), router.Bits()).String(), "dev", "br0")
			}
			routing(t, f)
		}},
	} {
		t.Run(plugin, func(t *testing.T) {
			ctx := t.Context()
			fabric, nodes := twoNodes(t, fmt.Sprintf(customSpec, c.chain, plugin))
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
			proved(ctx, t, plugin, nodes)
			for _, pod := range pods {
				checked(ctx, t, pod)
			}
			leave(ctx, t, nodes, pods, "/var/lib/cni/networks/lab")
		})
	}
}
