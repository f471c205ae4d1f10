package daemons

import (
	"context"
	"crypto/sha1"
	"fmt"
	"os/exec"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
)

// Hybridnet is what Hybridnet's manager and its DaemonSet do, with pods in the nodes' own VLAN: the
// overlay's link wants a prio qdisc and the action pedit, which the kernel of the tests has not.
type Hybridnet struct{ api }

// hybridnetConf is the conf list of its ConfigMap.
// https://github.com/alibaba/hybridnet/blob/v0.8.8/charts/hybridnet/templates/configmaps.yaml
const hybridnetConf = `{
  "name": "hybridnet",
  "cniVersion": "0.3.1",
  "plugins": [
    {"type": "hybridnet", "server_socket": "/run/cni/hybridnet.sock"},
    {"type": "bandwidth", "capabilities": {"bandwidth": true}}
  ]
}
`

// NewHybridnet applies its definitions, and makes the network of all nodes with one range: a
// gateway of it is on the nodes' LAN, and answers, as the daemon asks of it.
func NewHybridnet(t testing.TB, server *kubeapi.Server, fabric *node.Fabric) Hybridnet {
	t.Helper()
	const pods, gateway = "10.244.0.0/16", "10.244.255.254"
	if out, err := exec.CommandContext(t.Context(), "nsenter", "--net="+fabric.Netns(), "ip", "addr", "add", gateway+"/16", "dev", "br0").CombinedOutput(); err != nil {
		t.Fatalf("adding the gateway of pods: %v\n%s", err, out)
	}
	d := Hybridnet{api{t, server}}
	d.manifests(assets.Hybridnet(t) + "/hybridnet.yaml")
	const of = `"apiVersion": "networking.alibaba.com/v1", "metadata": {"name": "lan"}`
	d.create("/apis/networking.alibaba.com/v1/networks", `{`+of+`, "kind": "Network", "spec": {"netID": 0, "type": "Underlay", "mode": "VLAN", "nodeSelector": {"kubernetes.io/os": "linux"}}}`)
	d.create("/apis/networking.alibaba.com/v1/subnets", `{`+of+`, "kind": "Subnet", "spec": {"network": "lan", "netID": 0,
		"range": {"version": "4", "cidr": "`+pods+`", "gateway": "`+gateway+`"}}}`)
	return d
}

// Manager runs Hybridnet's manager, which gives addresses to pods, on a node. It waits until the
// pods of the API have addresses, because the daemon refuses a plugin that asks before.
func (d Hybridnet) Manager(ctx context.Context, n *node.Node) {
	d.t.Helper()
	n.Copy(assets.Hybridnet(d.t)+"/manager", "/opt/lab/hybridnet-manager", 0o755)
	d.start(ctx, n, "hybridnet-manager", "curl -fsS -o /dev/null http://localhost:9899/metrics",
		[]string{"KUBECONFIG=" + d.kubeconfig(n), "NAMESPACE=kube-system", "DEFAULT_NETWORK_TYPE=Underlay", "DEFAULT_IP_FAMILY=IPv4"}, []string{"/opt/lab/hybridnet-manager"})
	d.wait("each pod has its address", func() bool {
		var pods, addresses struct{ Items []any }
		d.server.Get("/api/v1/namespaces/default/pods", &pods)
		d.server.Get("/apis/networking.alibaba.com/v1/namespaces/default/ipinstances", &addresses)
		return len(addresses.Items) >= len(pods.Items)
	})
}

// Install does what its init container does: the plugin, and the conf list of this name.
func (d Hybridnet) Install(ctx context.Context, n *node.Node) {
	d.t.Helper()
	n.Copy(assets.Plugins(d.t, "hybridnet")+"/cni", "/opt/cni/bin/hybridnet", 0o755)
	installConf(ctx, n, "06-hybridnet.conflist", hybridnetConf)
}

// Start starts its daemon as the unit hybridnet-daemon, and waits until it has the socket that the
// plugin asks and the rules for the nodes' LAN.
// https://github.com/alibaba/hybridnet/blob/v0.8.8/charts/hybridnet/templates/daemonsets.yaml
func (d Hybridnet) Start(ctx context.Context, n *node.Node) {
	d.t.Helper()
	n.Copy(assets.Hybridnet(d.t)+"/daemon", "/opt/lab/hybridnet-daemon", 0o755)
	n.Must(ctx, "mkdir", "-p", "/run/cni")
	n.Must(ctx, "rm", "-f", "/run/cni/hybridnet.sock") // as its start-daemon.sh does
	d.start(ctx, n, "hybridnet-daemon", "test -S /run/cni/hybridnet.sock && ip rule | grep -q /0x4040 && ip neigh show proxy dev host0 | grep -q . && iptables-save -t nat | grep -q HYBRIDNET-POSTROUTING",
		[]string{"KUBECONFIG=" + d.kubeconfig(n), "KUBE_NODE_NAME=" + n.Name(), "NODE_IP=" + n.Address(), "DEFAULT_IP_FAMILY=IPv4", "DEFAULT_NETWORK_TYPE=Underlay"},
		append([]string{"unshare", "--mount", "--propagation=slave", "sh", "-euc", hybridnetDaemon, "daemon"}, d.links(n)...))
}

// hybridnetDaemon runs the daemon. It sets the sizes of the kernel's tables of neighbours, which
// are the machine's, and which the kernel shows to its first network namespace alone: the daemon is
// shown files in their place. It asks about the kernel's module ipv6, which is not in a node's
// /sys. "$@" are the links of whose neighbours it sets something.
const hybridnetDaemon = `cd /opt/lab
mkdir -p neigh/real neigh/shown/default
mount --bind /proc/sys/net/ipv4/neigh neigh/real
touch neigh/shown/default/gc_thresh1 neigh/shown/default/gc_thresh2 neigh/shown/default/gc_thresh3
for l; do ln -sfn /opt/lab/neigh/real/$l neigh/shown/$l; done
mount --bind neigh/shown /proc/sys/net/ipv4/neigh
mount -t sysfs sysfs /sys
exec ./hybridnet-daemon --bind-socket=/run/cni/hybridnet.sock --prefer-vlan-interfaces=host0 --patch-calico-pod-ips-annotation=true \
	--check-pod-connectivity-from-host=true --enable-vlan-arp-enhancement=true --update-ipinstance-status=true
`

// links are those of a node's pods, as the daemon names them.
// https://github.com/alibaba/hybridnet/blob/v0.8.8/pkg/daemon/containernetwork/utils.go
func (d Hybridnet) links(n *node.Node) (out []string) {
	d.t.Helper()
	var pods struct {
		Items []struct {
			Metadata struct{ Namespace, Name string }
			Spec     struct{ NodeName string }
		}
	}
	d.server.Get("/api/v1/pods", &pods)
	for _, p := range pods.Items {
		if p.Spec.NodeName == n.Name() {
			out = append(out, fmt.Sprintf("hybr%x", sha1.Sum([]byte(p.Metadata.Namespace+"."+p.Metadata.Name)))[:len("hybr")+11])
		}
	}
	return out
}
