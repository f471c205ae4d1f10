package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/daemons"
	"github.com/netwright/netwright/test/etcd"
	"github.com/netwright/netwright/test/node"
)

// Pods on two nodes reach each other by flannel. The agent prepares the nodes and waits. Then the
// DaemonSet's files come, and the agent finds all well. `agent verify` says at each step what is
// missing.
func TestPodsTalkByFlannel(t *testing.T) {
	t.Parallel()
	for backend, c := range map[string]struct {
		mtu   int
		route string // to the other node's pods
		sign  string
	}{
		"vxlan":   {1450, "10.244.2.0/24 via 10.244.2.0 dev flannel.1 onlink", "the VXLAN device is up: flannel.1 is up"},
		"udp":     {1472, "10.244.0.0/16 dev flannel0", "the tunnel device is up: flannel0 is up"},
		"host-gw": {1500, "10.244.2.0/24 via 10.77.0.12 dev host0", "flanneld has its lease: /run/flannel/subnet.env"},
	} {
		t.Run(backend, func(t *testing.T) {
			ctx := t.Context()
			fabric, nodes := twoNodes(t, strings.Replace(bridgeSpec, "bridge: {}", "flannel: {backend: "+backend+"}", 1))
			d := newFlannel(t, etcd.Start(t, etcd.Options{Netns: fabric.Netns(), Address: node.Gateway4}), nodes, backend)
			var pods [2]*node.Pod
			for i, n := range nodes {
				if res := n.Run(ctx, "netwright", "--once", "--wait", "1s"); res.Code != 3 {
					t.Errorf("%s: without a conf --wait ends with exit %d, want 3\n%s%s", n.Name(), res.Code, res.Stdout, res.Stderr)
				}
				verified(ctx, t, n, 3, "no 10-flannel.conflist")
				d.Install(ctx, n)
				n.Must(ctx, "netwright", "--once", "--wait", "1m")
				verified(ctx, t, n, 1, "/run/flannel/subnet.env is not there")
				d.Start(ctx, n)
				verified(ctx, t, n, 0, c.sign)
				pods[i] = n.AddPod(ctx, "pod", node.PodOptions{})
			}
			// flanneld of node 1 learns of node 2 by its watch.
			nodes[0].Shell(ctx, "until ip route show match "+podRange(1)+" | grep -qF '"+c.route+"'; do sleep 0.1; done")
			talk(ctx, t, nodes, pods)
			if link := pods[0].Must(ctx, "ip", "link", "show", "eth0"); !strings.Contains(link, fmt.Sprintf("mtu %d ", c.mtu)) {
				t.Errorf("the pod's link has another MTU than %d:\n%s", c.mtu, link)
			}
			full := fmt.Sprint(c.mtu - 28) // without the headers of IPv4 and ICMP
			pods[0].Ping(ctx, "-Mdo", "-s", full, pods[1].Addresses[0].String())
			if seen := peerSeenBy(t, fabric, netip.AddrPortFrom(netip.MustParseAddr(node.Outside4), 80), pods[0]); seen.String() != nodes[0].Address() {
				t.Errorf("a host outside sees %s, want the node's %s", seen, nodes[0].Address())
			}
			if res := pods[0].Check(ctx); !strings.Contains(res.Stdout+res.Stderr, "does not support") {
				t.Errorf("CHECK came with 0.4.0, and flannel's conf is of 0.3.1: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
			}
			proved(ctx, t, "flannel "+backend, nodes)
			leave(ctx, t, nodes, pods, "/var/lib/cni/networks/cbr0")

			n := nodes[0]
			n.Must(ctx, "systemctl", "stop", "flanneld")
			n.Must(ctx, "rm", "/run/flannel/subnet.env")
			verified(ctx, t, n, 1, "flanneld has its lease: /run/flannel/subnet.env is not there")
			if backend == "vxlan" {
				n.Must(ctx, "ip", "link", "del", "flannel.1")
				verified(ctx, t, n, 1, "the VXLAN device is up: flannel.1 is not there")
			}
			d.Start(ctx, n)
			verified(ctx, t, n, 0, c.sign)
		})
	}
}

// newFlannel returns flannel for two nodes: each has the range of its document.
func newFlannel(t *testing.T, server *etcd.Server, nodes [2]*node.Node, backend string) daemons.Flannel {
	t.Helper()
	d := daemons.NewFlannel(t, server, backend)
	for i, n := range nodes {
		d.Lease(podRange(i), n.Address(), "")
		d.Bring(n)
	}
	return d
}
