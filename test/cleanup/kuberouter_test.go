package cleanup

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/daemons"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
)

// kube-router's own daemon runs on two nodes, with a real API server. Pods reach each other by it,
// and a policy of the API is in force. The agent removes all that it left, among things of other
// owners.
func TestKubernetesKubeRouter(t *testing.T) {
	t.Parallel()
	kubeapi.Tier(t)
	const pods = "10.244.1.0/24"
	ctx, f := t.Context(), node.NewFabric(t)
	s := kubeapi.Start(t, kubeapi.Options{Netns: f.Netns(), Address: node.Gateway4})
	n, other := newSwitchNode(t, f), agentNode(t, f, "n2", peer, peerPods, nil)
	d := daemons.NewKubeRouter(t, s)
	d.Join(n.Node, pods)
	d.Join(other.Node, peerPods)
	n.wants("", "", "bridge: {}\n")
	n.once()
	n.Copy(assets.Cnitool(t), "/run/lab/cnitool", 0o755)
	// A program that asks iptables-nft for a chain of the kernel makes that chain, and it stays.
	n.Shell(ctx, "for p in iptables-nft ip6tables-nft; do $p -t mangle -A POSTROUTING -j ACCEPT; $p -t mangle -D POSTROUTING -j ACCEPT; done")
	n.shell("looks before")

	n.goes("kubeRouter", asked{})
	other.wants("", "", "kubeRouter: {}\n")
	other.once()
	n.shell("looks bare")
	// Another owner with routes in table 77 gets the packets of kube-router's pods.
	const uplink = "default via 10.78.0.1 dev up1 onlink table 77 metric 77"
	n.Shell(ctx, "ip route del "+uplink)
	for _, n := range []*switchNode{n, other} {
		d.Install(ctx, n.Node)
		d.Start(ctx, n.Node)
		n.once()
		if p := n.plan(); p.Summary.Changes() != 0 || p.Summary.Waiting != 0 {
			t.Errorf("%s, with kube-router there: the plan says %+v", n.Name(), p.Summary)
		}
		said := n.Run(ctx, "netwright", "verify").Stdout
		for _, want := range []string{"the bridge of the pods is up: kube-bridge is up", "its kubeconfig is there: /var/lib/kube-router/kubeconfig",
			"its controllers are alive: http://localhost:20244/healthz says 200 OK", "kube-dummy-if is not there"} { // no services: this kernel has no IPVS
			if !strings.Contains(said, want) {
				t.Errorf("%s: verify does not say %q:\n%s", n.Name(), want, said)
			}
		}
	}
	near := n.AddPod(ctx, "pod", node.PodOptions{Ports: []node.HostPort{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}}})
	far := other.AddPod(ctx, "pod", node.PodOptions{})
	n.Shell(ctx, "until ip route show proto 17 | grep -qF '"+peerPods+" via '; do sleep 0.1; done") // each learns of the other by BGP
	other.Shell(ctx, "until ip route show proto 17 | grep -qF '"+pods+" via '; do sleep 0.1; done")
	here, there := near.Addresses[0].String(), far.Addresses[0].String()
	n.answer("pod", here)
	other.answer("pod", there)
	// A rule of another owner masquerades all packets that leave the first node.
	named := []flow{{"to the other node's pod", near.Netns(), "", net.JoinHostPort(there, "80"), n.Address()},
		{"from the other node's pod", far.Netns(), "", net.JoinHostPort(here, "80"), there}}
	stranger := flow{"from the other node", other.Netns(), "", net.JoinHostPort(here, "80"), peer}
	n.flowsCarry("by kube-router", append(named, stranger))
	known(s, n.Node, "near", here)
	known(s, other.Node, "far", there)
	s.Must("POST", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", `{"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "of-near"},
		"spec": {"podSelector": {"matchLabels": {"app": "near"}}, "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "far"}}}]}]}}`)
	n.Shell(ctx, "until iptables-save | grep -q -- '--match-set KUBE-SRC-'; do sleep 0.1; done")
	n.flowsCarry("with its policy", named)
	if err := stranger.send(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("whom the policy does not name is not refused: %v", err)
	}

	n.Must(ctx, "systemctl", "stop", "kube-router")
	n.Shell(ctx, "ip route add "+uplink)
	n.shell("looks running")
	made := lines(n.shell("diff /run/proof/bare /run/proof/running | grep '^>' || true"))
	if len(made) < 100 {
		t.Errorf("it made %d lines, and at least 100 are awaited:\n%s", len(made), strings.Join(made, ""))
	}
	removed := n.comesBack("kubeRouter")
	n.Must(ctx, "ip", "netns", "del", "pod")
	n.carries("back from kube-router")
	n.shell("looks after")
	if diff := n.shell("diff /run/proof/before /run/proof/after | grep '^[<>]' || true"); diff != "" {
		t.Errorf("the node is not as it was on bridge:\n%s", diff)
	}
	t.Logf("DAEMONS kube-router: lines made %d, by the agent removed %d", len(made), removed)
}

// known makes a pod of a node in the API, as its kubelet reports it.
func known(s *kubeapi.Server, n *node.Node, name, address string) {
	s.Apply("apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n  namespace: default\n  labels: {app: " + name + "}\nspec:\n  nodeName: " + n.Name() + "\n  containers: [{name: c, image: none}]\n")
	s.Must("PATCH", "/api/v1/namespaces/default/pods/"+name+"/status", fmt.Sprintf(`{"status": {"phase": "Running", "hostIP": %q, "podIP": %q, "podIPs": [{"ip": %[2]q}]}}`, n.Address(), address))
}
