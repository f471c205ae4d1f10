package cleanup

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/daemons"
	"github.com/netwright/netwright/test/etcd"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
)

// running is a network that its own daemons set up on a node, and that they leave there.
type running struct {
	title string
	name  string
	asked
	start func(*daemonNode)
	// tables has the tables of the second uplink that the daemons use for themselves. Meanwhile the
	// uplink has no routes there.
	tables string
	stays  string // a script that removes what stays, as the network's page says
	lines  int    // at least this many lines of the node's state are theirs, or the daemons did not work
}

// The other node of these clusters does not exist: only their daemons know it.
const peer, peerPods = "10.77.0.12", "10.244.2.0/24"

var daemonic = []running{
	{title: "calico, iptables-nft", name: "calico", asked: asked{spec: "{encapsulationMode: vxlan, vxlanMode: Always}"}, lines: 600,
		start: func(n *daemonNode) { n.calico("NFT") }},
	{title: "calico, iptables-legacy", name: "calico", asked: asked{spec: "{encapsulationMode: vxlan, vxlanMode: Always}"}, lines: 600,
		start: func(n *daemonNode) { n.calico("Legacy") }},
	{title: "canal", name: "canal", asked: ways["canal"], lines: 500, start: func(n *daemonNode) {
		n.flannel("vxlan", `, "BackendType": "vxlan", "BackendData": {"VNI": 1, "VtepMAC": "02:00:00:00:00:12"}`)
		d := daemons.NewCalico(n.t, n.server, "", "CALICO_NETWORKING_BACKEND=none", "FELIX_IPTABLESBACKEND=NFT")
		d.Install(n.t.Context(), n.Node, "10-canal.conflist", `{"type": "host-local", "subnet": "10.244.1.0/24"}`)
		n.felix(d)
	}},
	{title: "flannel vxlan", name: "flannel", asked: asked{spec: "{backend: vxlan}"}, lines: 200, start: func(n *daemonNode) {
		n.flannel("vxlan", `, "BackendType": "vxlan", "BackendData": {"VNI": 1, "VtepMAC": "02:00:00:00:00:12"}`)
	}},
	{title: "flannel host-gw", name: "flannel", asked: asked{spec: "{backend: host-gw}"}, lines: 200, start: func(n *daemonNode) {
		n.flannel("host-gw", `, "BackendType": "host-gw"`)
	}},
	{title: "flannel udp", name: "flannel", asked: asked{spec: "{backend: udp}"}, lines: 200, start: func(n *daemonNode) { n.flannel("udp", "") }},
}

// linkLocal decides whether new links get an address by themselves. On hosts of proofs they do not.
const linkLocal = "net.ipv6.conf.default.addr_gen_mode"

// asking has the networks whose daemons use the Kubernetes API.
var asking = []running{
	// coild makes every packet look into table 116, and uses 119 for the rest.
	{title: "coil", name: "coil", lines: 150, tables: "116 119", stays: "rm /var/lib/cni/results/k8s-pod-network-*", start: func(n *daemonNode) {
		ctx := n.t.Context()
		n.Must(ctx, "sysctl", "-qw", linkLocal+"=0") // coild needs such an address at the host's end
		d := daemons.NewCoil(n.t, n.api, "10.244.0.0/16", "fd00:244::/112")
		d.Peer("n2", "10.244.200.0/27", "fd00:244::c800/123")
		d.Controller(ctx, n.Node)
		d.Install(ctx, n.Node)
		d.Start(ctx, n.Node)
		n.units = append(n.units, "coil-router", "coild", "coil-ipam-controller")
		n.Shell(ctx, "for f in 4 6; do until ip -$f route show proto 31 | grep -q .; do sleep 0.1; done; done")
	}},
	{title: "hybridnet, VLAN", name: "hybridnet", asked: asked{spec: "{networkType: vlan}"}, lines: 200, stays: "ip addr del 10.244.0.1/16 dev host0", start: func(n *daemonNode) {
		ctx := n.t.Context()
		d := daemons.NewHybridnet(n.t, n.api, n.fabric)
		d.Manager(ctx, n.Node)
		d.Install(ctx, n.Node)
		d.Start(ctx, n.Node)
		n.units = append(n.units, "hybridnet-daemon", "hybridnet-manager")
	}},
}

// daemonNode is a switchNode with real networks.
type daemonNode struct {
	*switchNode
	server *etcd.Server    // for networks with etcd
	api    *kubeapi.Server // for networks that use the API
	fabric *node.Fabric
	units  []string // of the daemons
}

// calico runs Calico over VXLAN in both families, with a node beside this one.
func (n *daemonNode) calico(iptables string) {
	n.t.Helper()
	ctx := n.t.Context()
	n.Must(ctx, "sysctl", "-qw", linkLocal+"=0") // its plugin needs such an address at the host's end
	d := daemons.NewCalico(n.t, n.server, "", "CALICO_NETWORKING_BACKEND=vxlan", "IP="+n.Address(), "IP6="+n.Address6(), "CALICO_IPV4POOL_CIDR=10.244.0.0/16",
		"CALICO_IPV4POOL_IPIP=Never", "CALICO_IPV4POOL_VXLAN=Always", "CALICO_IPV6POOL_CIDR=fd00:244::/48", "CALICO_IPV6POOL_VXLAN=Always",
		"CALICO_IPV6POOL_NAT_OUTGOING=true", "FELIX_IPV6SUPPORT=true", "FELIX_IPTABLESBACKEND="+iptables)
	d.Install(ctx, n.Node, "10-calico.conflist", `{"type": "calico-ipam", "assign_ipv4": "true", "assign_ipv6": "true"}`)
	n.felix(d)
	d.Peer(ctx, n.Node, "n2", "IP="+peer, "IP6="+node.Address6(peer))
	n.Shell(ctx, "for f in 4 6; do until ip -$f route show | grep -q ' via .* dev vxlan'; do sleep 0.1; done; done")
}

func (n *daemonNode) felix(d daemons.Calico) {
	n.t.Helper()
	d.Bring(n.Node)
	d.Start(n.t.Context(), n.Node)
	n.units = append(n.units, "calico-node")
}

func (n *daemonNode) flannel(backend, more string) {
	n.t.Helper()
	ctx := n.t.Context()
	d := daemons.NewFlannel(n.t, n.server, backend)
	d.Lease("10.244.1.0/24", n.Address(), "")
	d.Lease(peerPods, peer, more)
	d.Bring(n.Node)
	d.Install(ctx, n.Node)
	d.Start(ctx, n.Node)
	n.units = append(n.units, "flanneld")
	if backend != "udp" { // udp has one route to all nodes
		n.Shell(ctx, "until ip route show "+peerPods+" | grep -q .; do sleep 0.1; done")
	}
}

// The clean-up also removes what no script of ours made. On a node the daemons of a network run,
// with its plugins and a pod, and make all their own state. Then they end, and the released agent
// switches the node to bridge, among things of other owners.
func TestSwitchesFromDaemonsLeaveNothing(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	f := node.NewFabric(t)
	n := &daemonNode{switchNode: newSwitchNode(t, f), server: etcd.Start(t, etcd.Options{Netns: f.Netns(), Address: node.Gateway4})}
	n.leaves(daemonic)
}

// The same for daemons that use the Kubernetes API.
func TestKubernetesDaemonsLeaveNothing(t *testing.T) {
	t.Parallel()
	kubeapi.Tier(t)
	f := node.NewFabric(t)
	n := &daemonNode{switchNode: newSwitchNode(t, f), fabric: f, api: kubeapi.Start(t, kubeapi.Options{Netns: f.Netns(), Address: node.Gateway4})}
	daemons.Join(t, n.api, n.Name(), []string{"10.244.1.0/24"}, []string{n.Address(), n.Address6()})
	daemons.Join(t, n.api, "n2", []string{peerPods}, []string{peer, node.Address6(peer)})
	daemons.Pod(t, n.api, "pod", n.Name())
	n.leaves(asking)
}

// leaves switches from bridge to each network, runs its daemons, and switches back.
func (n *daemonNode) leaves(all []running) {
	t, ctx := n.t, n.t.Context()
	t.Helper()
	n.wants("", "", "bridge: {}\n")
	n.once()
	n.Copy(assets.Cnitool(t), "/run/lab/cnitool", 0o755)
	// A program that asks iptables-nft for a chain of the kernel makes that chain, and it stays.
	n.Shell(ctx, "for p in iptables-nft ip6tables-nft; do $p -t mangle -A POSTROUTING -j ACCEPT; $p -t mangle -D POSTROUTING -j ACCEPT; done")
	n.shell("looks before")
	var table strings.Builder
	for _, r := range all {
		if n.lost {
			t.Fatalf("%s and those after it are not tried", r.title)
		}
		t.Run(r.title, func(t *testing.T) {
			n.t, n.lost, n.units = t, true, nil
			if n.server != nil {
				if out, err := n.server.Do(ctx, n.server.Authority.Client("test"), "del", "", "--prefix"); err != nil {
					t.Fatalf("emptying etcd: %v\n%s", err, out)
				}
			}
			n.goes(r.name, r.asked)
			n.Shell(ctx, "for t in "+r.tables+"; do ip route del default table $t; done")
			n.shell("looks bare")
			r.start(n)
			n.AddPod(ctx, "pod", node.PodOptions{Ports: []node.HostPort{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}}})
			n.Must(ctx, "sysctl", "-qw", linkLocal+"=1")
			if slices.Contains(n.units, "calico-node") { // Felix learns of the pod by its watch
				n.Shell(ctx, "until { iptables-nft-save; iptables-legacy-save; } | grep -q '^-A cali-tw-cali'; do sleep 0.1; done")
			}
			n.shell("looks running")
			// The agent does not restore what a daemon removed. Felix removes each rule that leads
			// to its tables and is not its own, and table 1 is one of its tables.
			n.shell("diff /run/proof/bare /run/proof/running | sed -n 's/^< //p' >/run/proof/taken; grep -vxFf /run/proof/taken /run/proof/before >/run/proof/kept; mv /run/proof/kept /run/proof/before")
			made := lines(n.shell("diff /run/proof/bare /run/proof/running | grep '^>' || true"))
			if len(made) < r.lines {
				t.Errorf("they made %d lines, and at least %d are awaited:\n%s", len(made), r.lines, strings.Join(made, ""))
			}
			for _, unit := range n.units {
				n.Must(ctx, "systemctl", "stop", unit)
			}
			removed := n.comesBack(r.name)
			n.Shell(ctx, "for t in "+r.tables+"; do ip route add default via 10.78.0.1 dev up1 onlink table $t metric 77; done")
			n.Must(ctx, "ip", "netns", "del", "pod")
			n.carries("back from " + r.title)
			n.Shell(ctx, r.stays)
			n.shell("looks after")
			if diff := n.shell("diff /run/proof/before /run/proof/after | grep '^[<>]' || true; mv /run/proof/after /run/proof/before"); diff != "" {
				t.Errorf("the node is not as it was on bridge:\n%s", diff)
			}
			fmt.Fprintf(&table, "DAEMONS %-24s lines made %3d, by the agent removed %3d\n", r.title, len(made), removed)
			n.lost = false
		})
	}
	t.Log("\n" + table.String())
}
