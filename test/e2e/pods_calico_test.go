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

// Pods on two nodes reach each other by Calico's own daemon and plugins, over VXLAN. The agent
// prepares the nodes, installs the certificates of Calico's etcd and waits. Then the DaemonSet's
// files come, and the agent finds all well. `agent verify` says at each step what is missing.
func TestPodsTalkByCalico(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fabric := node.NewFabric(t)
	server := etcd.Start(t, etcd.Options{Netns: fabric.Netns(), Address: node.Gateway4})
	client := server.Authority.Client("calico-client")
	spec := strings.Replace(bridgeSpec, "bridge: {}",
		"calico: {encapsulationMode: vxlan, vxlanMode: Always, datastore: etcd, etcd: {endpoints: ['"+server.Endpoint+"']}}", 1)
	nodes := nodesOf(t, fabric, newStore(t, spec, map[string]string{"pki/issued/ca/1.crt": server.Authority.PEM,
		"pki/issued/calico-client/1.crt": client.Cert, "pki/private/calico-client/1.key": client.Key}), spec)
	d := daemons.NewCalico(t, server, "/srv/kubernetes/calico", "CALICO_NETWORKING_BACKEND=vxlan",
		"IP=autodetect", "CALICO_IPV4POOL_CIDR=10.244.0.0/16", "CALICO_IPV4POOL_IPIP=Never", "CALICO_IPV4POOL_VXLAN=Always", "FELIX_IPV6SUPPORT=false")
	var pods [2]*node.Pod
	for i, n := range nodes {
		if res := n.Run(ctx, "netwright", "--once", "--wait", "1s"); res.Code != 3 {
			t.Errorf("%s: without a conf --wait ends with exit %d, want 3\n%s%s", n.Name(), res.Code, res.Stdout, res.Stderr)
		}
		verified(ctx, t, n, 3, "no 10-calico.conflist")
		d.Bring(n)
		d.Install(ctx, n, "10-calico.conflist", `{"type": "calico-ipam"}`)
		n.Must(ctx, "netwright", "--once", "--wait", "1m")
		verified(ctx, t, n, 1, "calico-node has registered this node: /var/lib/calico/nodename is not there")
		d.Start(ctx, n)
		verified(ctx, t, n, 0, "the VXLAN device is up: vxlan.calico is up")
		pods[i] = n.AddPod(ctx, "pod", node.PodOptions{Ports: []node.HostPort{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}}})
		if cluster := netip.MustParsePrefix("10.244.0.0/16"); len(pods[i].Addresses) != 1 || !cluster.Contains(pods[i].Addresses[0]) {
			t.Fatalf("the pod of %s has the addresses %v, want one of %s", n.Name(), pods[i].Addresses, cluster)
		}
	}
	// Each Felix learns of the other node's block by its watch.
	for i, n := range nodes {
		n.Shell(ctx, "until ip route get "+pods[1-i].Addresses[0].String()+" | grep -q 'dev vxlan.calico'; do sleep 0.1; done")
	}
	reach(ctx, t, nodes, pods)
	if link := pods[0].Must(ctx, "ip", "link", "show", "eth0"); !strings.Contains(link, "mtu 1450 ") {
		t.Errorf("the pod's link has another MTU than 1450:\n%s", link)
	}
	pods[0].Ping(ctx, "-Mdo", "-s", fmt.Sprint(1450-28), pods[1].Addresses[0].String())
	if seen := peerSeenBy(t, fabric, netip.AddrPortFrom(netip.MustParseAddr(node.Outside4), 80), pods[0]); seen.String() != nodes[0].Address() {
		t.Errorf("a host outside sees %s, want the node's %s", seen, nodes[0].Address())
	}
	hostPort(t, fabric, pods[0], netip.MustParseAddrPort("10.77.0.11:8080"))
	proved(ctx, t, "calico, VXLAN", nodes)

	n := nodes[0]
	verified(ctx, t, n, 0, "each pod has its link")
	nothingToDo(t, n)
	n.Must(ctx, "systemctl", "stop", "calico-node")
	verified(ctx, t, n, 1, "Felix is ready")
	n.Must(ctx, "ip", "link", "del", "vxlan.calico")
	verified(ctx, t, n, 1, "the VXLAN device is up: vxlan.calico is not there")
	d.Start(ctx, n)
	verified(ctx, t, n, 0, "the VXLAN device is up: vxlan.calico is up")
	for i, n := range nodes {
		pods[i].Delete(ctx)
		nothingToDo(t, n)
	}
}

// The same with both daemons of Canal: flanneld provides the network, and Calico the pods' links
// and policy.
func TestPodsTalkByCanal(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fabric, nodes := twoNodes(t, strings.NewReplacer("bridge: {}", "canal: {}", "1.36.0", "1.27.3").Replace(bridgeSpec))
	server := etcd.Start(t, etcd.Options{Netns: fabric.Netns(), Address: node.Gateway4})
	flannel, calico := newFlannel(t, server, nodes, "vxlan"), daemons.NewCalico(t, server, "", "CALICO_NETWORKING_BACKEND=none", "FELIX_IPV6SUPPORT=false")
	var pods [2]*node.Pod
	for i, n := range nodes {
		n.Must(ctx, "netwright", "--once")
		calico.Bring(n)
		calico.Install(ctx, n, "10-canal.conflist", fmt.Sprintf(`{"type": "host-local", "subnet": %q}`, podRange(i)))
		verified(ctx, t, n, 1, "flanneld has its lease: /run/flannel/subnet.env is not there")
		flannel.Start(ctx, n)
		verified(ctx, t, n, 1, "Calico knows its node: /var/lib/calico/nodename is not there")
		calico.Start(ctx, n)
		verified(ctx, t, n, 0, "Felix is ready")
		pods[i] = n.AddPod(ctx, "pod", node.PodOptions{})
	}
	nodes[0].Shell(ctx, "until ip route get "+pods[1].Addresses[0].String()+" | grep -q 'dev flannel.1'; do sleep 0.1; done")
	talk(ctx, t, nodes, pods)
	verified(ctx, t, nodes[0], 0, "each pod has its link")
	leave(ctx, t, nodes, pods, "/var/lib/cni/networks/k8s-pod-network")
	nodes[0].Must(ctx, "systemctl", "stop", "calico-node")
	verified(ctx, t, nodes[0], 1, "Felix is ready")
}
