package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/etcd"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/pki"
)

// Pods on two nodes talk by flannel: the agent prepares and waits, what the DaemonSet brings comes,
// and the agent is content. `agent verify` tells at each step what is missing.
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
			d := newFlannel(t, fabric, nodes, backend)
			var pods [2]*node.Pod
			for i, n := range nodes {
				if res := n.Run(ctx, "netwright", "--once", "--wait", "1s"); res.Code != 3 {
					t.Errorf("%s: without a conf --wait ends with exit %d, want 3\n%s%s", n.Name(), res.Code, res.Stdout, res.Stderr)
				}
				verified(ctx, t, n, 3, "no 10-flannel.conflist")
				d.install(n)
				n.Must(ctx, "netwright", "--once", "--wait", "1m")
				verified(ctx, t, n, 1, "/run/flannel/subnet.env is not there")
				d.start(ctx, n)
				verified(ctx, t, n, 0, c.sign)
				pods[i] = n.AddPod(ctx, "pod", node.PodOptions{})
			}
			// flanneld of node 1 hears of node 2 by its watch.
			nodes[0].Shell(ctx, "until ip route show match "+podRange(1)+" | grep -qF '"+c.route+"'; do sleep 0.1; done")
			talk(ctx, t, nodes, pods)
			if link := pods[0].Must(ctx, "ip", "link", "show", "eth0"); !strings.Contains(link, fmt.Sprintf("mtu %d ", c.mtu)) {
				t.Errorf("the pod's link has another MTU than %d:\n%s", c.mtu, link)
			}
			full := fmt.Sprint(c.mtu - 28) // less the headers of IPv4 and ICMP
			pods[0].Must(ctx, "ping", "-c1", "-w60", "-Mdo", "-s", full, pods[1].Addresses[0].String())
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
			d.start(ctx, n)
			verified(ctx, t, n, 0, c.sign)
		})
	}
}

// flannelConf is what flannel's ConfigMap holds.
// https://github.com/flannel-io/flannel/blob/master/Documentation/kube-flannel.yml
const flannelConf = `{
  "name": "cbr0",
  "cniVersion": "0.3.1",
  "plugins": [
    {"type": "flannel", "delegate": {"hairpinMode": true, "isDefaultGateway": true}},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

// flannel is what its DaemonSet does on a node, with an etcd in the place of the Kubernetes API.
type flannel struct {
	t      *testing.T
	server *etcd.Server
	client pki.Pair
}

// newFlannel keeps the cluster's network in an etcd on the fabric, and for each node the range that
// its document names.
func newFlannel(t *testing.T, fabric *node.Fabric, nodes [2]*node.Node, backend string) flannel {
	t.Helper()
	server := etcd.Start(t, etcd.Options{Netns: fabric.Netns(), Address: node.Gateway4})
	d := flannel{t, server, server.Authority.Client("flannel")}
	d.put("config", fmt.Sprintf(`{"Network": "10.244.0.0/16", "Backend": {"Type": %q}}`, backend))
	for i, n := range nodes {
		d.put("subnets/"+strings.Replace(podRange(i), "/", "-", 1), fmt.Sprintf(`{"PublicIP": %q}`, n.Address()))
	}
	return d
}

func (d flannel) put(key, value string) {
	d.t.Helper()
	if out, err := d.server.Do(d.t.Context(), d.client, "put", "/coreos.com/network/"+key, value); err != nil {
		d.t.Fatalf("writing flannel's configuration: %v\n%s", err, out)
	}
}

// install does what the init containers do: the plugin, and the conf under a temporary name first
// (flannel's cmd/install_conf).
func (d flannel) install(n *node.Node) {
	d.t.Helper()
	n.Copy(assets.Flannel(d.t), "/opt/cni/bin/flannel", 0o755)
	n.Write("/etc/cni/net.d/.10-flannel.conflist.tmp", flannelConf, 0o644)
	n.Must(d.t.Context(), "mv", "/etc/cni/net.d/.10-flannel.conflist.tmp", "/etc/cni/net.d/10-flannel.conflist")
}

// start starts flanneld and waits until it says that it is ready: it has its lease and its device
// then.
func (d flannel) start(ctx context.Context, n *node.Node) {
	d.t.Helper()
	n.Copy(assets.Flanneld(d.t), "/opt/bin/flanneld", 0o755)
	for name, text := range map[string]string{"ca.crt": d.server.Authority.PEM, "client.crt": d.client.Cert, "client.key": d.client.Key} {
		n.Write("/etc/flannel/"+name, text, 0o600)
	}
	n.Must(ctx, "systemd-run", "--quiet", "--collect", "--unit=flanneld", "--service-type=notify", "--property=TimeoutStartSec=infinity", "--",
		"/opt/bin/flanneld", "--iface=host0", "--ip-masq", "--etcd-endpoints="+d.server.Endpoint,
		"--etcd-cafile=/etc/flannel/ca.crt", "--etcd-certfile=/etc/flannel/client.crt", "--etcd-keyfile=/etc/flannel/client.key")
}
