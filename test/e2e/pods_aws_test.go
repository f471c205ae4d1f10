package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/daemons"
	"github.com/netwright/netwright/test/node"
)

// Pods of two instances reach each other by Amazon's own address manager and plugins. The manager
// takes addresses and a second interface from EC2, and its plugin gives the addresses to pods.
// `agent verify` says at each step what is missing, and asks the manager itself.
func TestPodsTalkByAmazonVPC(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fabric, nodes := twoNodes(t, strings.Replace(bridgeSpec, "bridge: {}", "amazonVPC: {env: [{name: AWS_VPC_ENI_MTU, value: '1500'}]}", 1)+"  cloudProvider: aws\n")
	routing(t, fabric) // the VPC's router is the subnet's first address
	cloud := daemons.NewAWS(t, fabric)
	var pods [2]*node.Pod
	for i, n := range nodes {
		cloud.Launch(ctx, n)
		n.Shell(ctx, "d=$(findmnt -no TARGET -T /sys/fs); mount -o remount,bind,rw $d; mkdir -p /sys/fs/bpf; mount -t bpf bpf /sys/fs/bpf") // as on a machine
		if res := n.Run(ctx, "netwright", "--once", "--wait", "1s"); res.Code != 3 {
			t.Errorf("%s: without a conf --wait ends with exit %d, want 3\n%s%s", n.Name(), res.Code, res.Stdout, res.Stderr)
		}
		verified(ctx, t, n, 3, "no 10-aws.conflist")
		cloud.StartAWSNode(ctx, n)
		n.Must(ctx, "netwright", "--once", "--wait", "1m")
		verified(ctx, t, n, 0, "its address manager answers: http://localhost:61679/v1/enis says 200 OK")
		pods[i] = n.AddPod(ctx, "pod", node.PodOptions{Ports: []node.HostPort{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}}})
		if own := cloud.InterfacesOf(n)[0].Addresses; len(own) != 2 || len(pods[i].Addresses) != 1 || pods[i].Addresses[0] != own[1] {
			t.Fatalf("the pod of %s has the addresses %v, want the second one of %v", n.Name(), pods[i].Addresses, own)
		}
	}
	reach(ctx, t, nodes, pods)

	// The second pod has an address of the second interface, and its packets leave by it.
	n := nodes[0]
	cloud.AwaitSecond(ctx, n)
	second := n.AddPod(ctx, "second", node.PodOptions{Ports: []node.HostPort{{HostPort: 8081, ContainerPort: 80, Protocol: "tcp"}}})
	of := cloud.InterfacesOf(n)
	if len(of) != 2 || len(of[1].Addresses) != 2 || len(second.Addresses) != 1 || second.Addresses[0] != of[1].Addresses[1] {
		t.Fatalf("the second pod has the addresses %v, want one of the second interface: %+v", second.Addresses, of)
	}
	if by := n.Must(ctx, "ip", "route", "get", pods[1].Addresses[0].String(), "from", second.Addresses[0].String(), "iif", n.Must(ctx, "sh", "-c", link(second))); !strings.Contains(by, "dev eth1 table 2") {
		t.Errorf("packets of the second pod leave by another link than eth1:\n%s", by)
	}
	reach(ctx, t, [2]*node.Node{n, nodes[1]}, [2]*node.Pod{second, pods[1]})
	for i, pod := range []*node.Pod{pods[0], second} {
		// The rules with connection marks have packets to other networks leave by the first
		// interface.
		if seen := peerSeenBy(t, fabric, netip.AddrPortFrom(netip.MustParseAddr(node.Outside4), 80), pod); seen.String() != n.Address() {
			t.Errorf("a host outside sees %s, want the node's %s", seen, n.Address())
		}
		hostPort(t, fabric, pod, netip.MustParseAddrPort(fmt.Sprintf("10.77.0.11:808%d", i)))
	}
	verified(ctx, t, n, 0, "each pod has its link")
	nothingToDo(t, n)

	for _, pod := range []*node.Pod{pods[0], second} {
		pod.Delete(ctx)
	}
	if rules := n.Must(ctx, "ip", "rule"); strings.Contains(rules, "512:") || strings.Contains(rules, "1536:") {
		t.Errorf("after its pods the node has rules of theirs:\n%s", rules)
	}
	nothingToDo(t, n)
	n.Must(ctx, "systemctl", "stop", "aws-node")
	verified(ctx, t, n, 1, "its address manager answers: http://localhost:61679/v1/enis")
}

// link returns a command that prints the host's end of a pod's link.
func link(pod *node.Pod) string {
	return "ip -o route show " + pod.Addresses[0].String() + " | sed 's/.* dev //; s/ .*//' | tr -d '\\n'"
}
