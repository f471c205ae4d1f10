package daemons

import (
	"context"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
)

// Coil does what Coil's DaemonSets and its controller do: coild gives pods addresses of blocks, and
// coil-router makes routes to the blocks of other nodes.
type Coil struct{ api }

// coilConf is the conf list of its ConfigMap.
// https://github.com/cybozu-go/coil/blob/v2.15.0/v2/netconf.json
const coilConf = `{
  "cniVersion": "0.4.0",
  "name": "k8s-pod-network",
  "plugins": [
    {"type": "coil", "socket": "/run/coild.sock"},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

// NewCoil applies Coil's definitions, and makes the default pool of namespaces: blocks of 32
// addresses of these ranges. The range of IPv6 may be "".
func NewCoil(t testing.TB, server *kubeapi.Server, ipv4, ipv6 string) Coil {
	t.Helper()
	d := Coil{api{t, server}}
	d.manifests(assets.Coil(t) + "/coil.yaml")
	ranges := `{"ipv4": "` + ipv4 + `"}`
	if ipv6 != "" {
		ranges = `{"ipv4": "` + ipv4 + `", "ipv6": "` + ipv6 + `"}`
	}
	d.create("/apis/coil.cybozu.com/v2/addresspools",
		`{"apiVersion": "coil.cybozu.com/v2", "kind": "AddressPool", "metadata": {"name": "default"}, "spec": {"blockSizeBits": 5, "subnets": [`+ranges+`]}}`)
	return d
}

// Peer gives a block to a node, as the controller does when the node's coild asks for a block.
func (d Coil) Peer(name, ipv4, ipv6 string) {
	d.t.Helper()
	d.create("/apis/coil.cybozu.com/v2/addressblocks", `{"apiVersion": "coil.cybozu.com/v2", "kind": "AddressBlock", "metadata": {"name": "default-1600",
		"labels": {"coil.cybozu.com/pool": "default", "coil.cybozu.com/node": "`+name+`"}}, "index": 1600, "ipv4": "`+ipv4+`", "ipv6": "`+ipv6+`"}`)
}

// Controller runs Coil's controller on a node. The controller gives blocks to nodes.
func (d Coil) Controller(ctx context.Context, n *node.Node) {
	d.t.Helper()
	n.Copy(assets.Coil(d.t)+"/coil-ipam-controller", "/opt/lab/coil-ipam-controller", 0o755)
	d.start(ctx, n, "coil-ipam-controller", "curl -fsS -o /dev/null http://localhost:9387/healthz", []string{"KUBECONFIG=" + d.kubeconfig(n)},
		[]string{"/opt/lab/coil-ipam-controller"})
}

// Install runs Coil's init container, which removes every other conf list. Then the container waits
// for kubelets that look at confs every five seconds; Install ends it.
func (d Coil) Install(ctx context.Context, n *node.Node) {
	d.t.Helper()
	n.Copy(assets.Coil(d.t)+"/coil-installer", "/opt/lab/coil-installer", 0o755)
	n.Copy(assets.Plugins(d.t, "coil")+"/coil", "/opt/lab/coil", 0o755)
	d.start(ctx, n, "coil-installer", "test -x /opt/cni/bin/coil",
		[]string{"CNI_ETC_DIR=/etc/cni/net.d", "CNI_BIN_DIR=/opt/cni/bin", "COIL_PATH=/opt/lab/coil", "CNI_NETCONF=" + coilConf}, []string{"/opt/lab/coil-installer"})
	n.Run(ctx, "systemctl", "stop", "coil-installer")
}

// Start starts coild and coil-router as units of these names, and waits until both report that they
// are ready.
// https://github.com/cybozu-go/coil/tree/v2.15.0/v2/config/pod
func (d Coil) Start(ctx context.Context, n *node.Node) {
	d.t.Helper()
	environment := []string{"KUBECONFIG=" + d.kubeconfig(n), "COIL_NODE_NAME=" + n.Name()}
	for _, name := range []string{"coild", "coil-router"} {
		n.Copy(assets.Coil(d.t)+"/"+name, "/opt/lab/"+name, 0o755)
	}
	d.start(ctx, n, "coild", "test -S /run/coild.sock && curl -fsS -o /dev/null http://localhost:9385/readyz", environment,
		[]string{"/opt/lab/coild", "--enable-ipam=true", "--enable-egress=true"})
	d.start(ctx, n, "coil-router", "curl -fsS -o /dev/null http://localhost:9389/readyz", environment, []string{"/opt/lab/coil-router"})
}
