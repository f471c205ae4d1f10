// Package daemons runs the daemons of networks on booted nodes, as their DaemonSets do. The daemons
// are the real programs, built at pinned versions. They read the state of the cluster from a real
// Kubernetes API server on the nodes' fabric, or from an etcd if they use one in its place.
package daemons

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/etcd"
	"github.com/netwright/netwright/test/node"
)

// FlannelConf is the conf list that flannel's ConfigMap holds.
// https://github.com/flannel-io/flannel/blob/master/Documentation/kube-flannel.yml
const FlannelConf = `{
  "name": "cbr0",
  "cniVersion": "0.3.1",
  "plugins": [
    {"type": "flannel", "delegate": {"hairpinMode": true, "isDefaultGateway": true}},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

// Flannel does on nodes what flannel's DaemonSet does.
type Flannel struct {
	t      testing.TB
	server *etcd.Server
}

// NewFlannel keeps the network of a cluster whose pods have 10.244.0.0/16 in an etcd. A node gets
// the range that [Flannel.Lease] says.
func NewFlannel(t testing.TB, server *etcd.Server, backend string) Flannel {
	t.Helper()
	d := Flannel{t, server}
	d.put("config", fmt.Sprintf(`{"Network": "10.244.0.0/16", "Backend": {"Type": %q}}`, backend))
	return d
}

// Lease gives a range of pods to the node of an address. more are further members of the JSON that
// a running flanneld writes about itself, each after a comma. With them a node without a daemon is
// a peer.
func (d Flannel) Lease(pods, address, more string) {
	d.t.Helper()
	d.put("subnets/"+strings.Replace(pods, "/", "-", 1), fmt.Sprintf(`{"PublicIP": %q%s}`, address, more))
}

func (d Flannel) put(key, value string) { put(d.t, d.server, "/coreos.com/network/"+key, value) }

// put writes a value into an etcd.
func put(t testing.TB, server *etcd.Server, key, value string) {
	t.Helper()
	if out, err := server.Do(t.Context(), server.Authority.Client("test"), "put", key, value); err != nil {
		t.Fatalf("writing %s: %v\n%s", key, err, out)
	}
}

// Bring copies the daemon and the settings for the etcd to a node.
func (d Flannel) Bring(n *node.Node) {
	d.t.Helper()
	n.Copy(assets.Flanneld(d.t), "/opt/lab/flanneld", 0o755)
	pair := d.server.Authority.Client("flannel")
	for name, text := range map[string]string{"ca.crt": d.server.Authority.PEM, "client.crt": pair.Cert, "client.key": pair.Key} {
		n.Write("/opt/lab/flannel/"+name, text, 0o600)
	}
}

// Install does what the init containers do: the plugin, and the conf under a temporary name first
// (flannel's cmd/install_conf).
func (d Flannel) Install(ctx context.Context, n *node.Node) {
	d.t.Helper()
	n.Copy(assets.Flannel(d.t), "/opt/cni/bin/flannel", 0o755)
	installConf(ctx, n, "10-flannel.conflist", FlannelConf)
}

func installConf(ctx context.Context, n *node.Node, name, text string) {
	n.Write("/etc/cni/net.d/."+name+".tmp", text, 0o644)
	n.Must(ctx, "mv", "/etc/cni/net.d/."+name+".tmp", "/etc/cni/net.d/"+name)
}

// Start starts flanneld as the unit flanneld, and waits until flanneld reports that it is ready.
// Then flanneld has its lease and its device. Call [Flannel.Bring] first.
func (d Flannel) Start(ctx context.Context, n *node.Node) {
	d.t.Helper()
	n.Must(ctx, "systemd-run", "--quiet", "--collect", "--unit=flanneld", "--service-type=notify", "--property=TimeoutStartSec=infinity", "--",
		"/opt/lab/flanneld", "--iface=host0", "--ip-masq", "--etcd-endpoints="+d.server.Endpoint,
		"--etcd-cafile=/opt/lab/flannel/ca.crt", "--etcd-certfile=/opt/lab/flannel/client.crt", "--etcd-keyfile=/opt/lab/flannel/client.key")
}
