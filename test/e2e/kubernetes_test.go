package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/daemons"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
)

// These tests run in `make test-kubernetes`: nodes with a real API server on their fabric.

// join gives a node its kubelet's credential, as a bootstrap does, and makes its Node, as its
// kubelet does.
func join(s *kubeapi.Server, n *node.Node, spec string) { joinAs(s, n, n.Name(), spec) }

// joinAs is join for a Node with another name than its host.
func joinAs(s *kubeapi.Server, n *node.Node, name, spec string) {
	n.Write("/var/lib/kubelet/kubeconfig", s.Kubeconfig(s.Endpoint, s.Kubelet(name)), 0o600)
	s.Apply(fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata:\n  name: %s\n  annotations: {volumes.kubernetes.io/controller-managed-attach-detach: \"true\"}\nspec: %s\n", name, spec))
	s.Must("PATCH", "/api/v1/nodes/"+name+"/status", fmt.Sprintf(`{"status": {"addresses": [{"type": "InternalIP", "address": %q}]}}`, n.Address()))
}

// account gives a node the account of docs/kubernetes.yaml.
func account(t *testing.T, s *kubeapi.Server, n *node.Node) {
	t.Helper()
	n.Write("/etc/netwright/token", s.Token("netwright-system", "netwright-node"), 0o600)
	n.Write("/etc/netwright/kubeconfig", s.TokenKubeconfig(s.Endpoint, "/etc/netwright/token"), 0o600)
}

// No document names a pod CIDR. The nodes take their own pod CIDR and those of the others from
// their Nodes, and pods reach each other. This holds while the API does not answer.
func TestKubernetesGivesPodCIDRs(t *testing.T) {
	t.Parallel()
	kubeapi.Tier(t)
	ctx := t.Context()
	fabric, nodes := twoNodes(t, bridgeSpec)
	s := kubeapi.Start(t, kubeapi.Options{Netns: fabric.Netns(), Address: node.Gateway4})
	manifests, err := os.ReadFile("../../docs/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.Apply(string(manifests))
	for _, n := range nodes {
		for _, m := range nodes {
			n.Must(ctx, "rm", "/srv/netwright/"+cluster+"/nodes/"+m.Name()+".yaml")
		}
		n.Must(ctx, "sh", "-c", "echo 'nodeGroup: nodes' >> /etc/netwright/agent.yaml")
		waits(ctx, t, n, "read the kubeconfig /etc/netwright/kubeconfig")
		account(t, s, n)
		waits(ctx, t, n, "there is no Node "+n.Name()+" yet")
	}
	for _, n := range nodes {
		join(s, n, "{}")
		waits(ctx, t, n, "--allocate-node-cidrs")
	}
	for i, n := range nodes {
		s.Must("PATCH", "/api/v1/nodes/"+n.Name(), fmt.Sprintf(`{"spec": {"podCIDR": %q, "podCIDRs": [%q]}}`, podRange(i), podRange(i)))
	}
	var pods [2]*node.Pod
	for i, n := range nodes {
		n.Must(ctx, "netwright", "--once", "--wait", "1m")
		pods[i] = n.AddPod(ctx, "pod", node.PodOptions{})
	}
	talk(ctx, t, nodes, pods)

	// A person who may write Nodes cannot redirect traffic by the claims of a Node, and causes no
	// new generation.
	for i, claims := range []string{"128.0.0.0/1", podRange(1), "198.51.100.0/24", podRange(7), podRange(8)} {
		address := "10.77.0.66"
		switch claims { // these claims have the right size
		case podRange(7):
			address = node.Gateway4
		case podRange(8):
			address = "10.77.0.255"
		}
		name := fmt.Sprintf("evil-%d", i)
		s.Apply(fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata:\n  name: %s\nspec: {podCIDR: %s, podCIDRs: [%[2]s]}\n", name, claims))
		s.Must("PATCH", "/api/v1/nodes/"+name+"/status", fmt.Sprintf(`{"status": {"addresses": [{"type": "InternalIP", "address": %q}]}}`, address))
	}
	routes := nodes[0].Must(ctx, "ip", "route")
	res := nodes[0].Run(ctx, "netwright", "--once")
	for _, want := range []string{
		"no route to 128.0.0.0/1 of Node evil-0: it is no /24", "no route to " + podRange(1) + " of Node evil-1: Node node-2 has it",
		"no route to 198.51.100.0/24 of Node evil-2: it does not lie in spec.podCIDR", "no route to " + podRange(7) + " of Node evil-3: its address 10.77.0.1 is a gateway",
		"no route to " + podRange(8) + " of Node evil-4: its address 10.77.0.255 is the broadcast address",
	} {
		if !strings.Contains(res.Stdout+res.Stderr, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if now := nodes[0].Must(ctx, "ip", "route"); res.Code != 0 || now != routes {
		t.Errorf("hostile Nodes: exit %d, routes\n%swere\n%s%s%s", res.Code, now, routes, res.Stdout, res.Stderr)
	}
	talk(ctx, t, nodes, pods)
	s.Must("DELETE", "/api/v1/nodes/evil-1", "") // it would be the next owner of that range

	s.Down()
	nodes[0].Must(ctx, "ip", "route", "del", podRange(1)) // the agent repairs this from what it recorded
	if res := nodes[0].Run(ctx, "netwright", "--once"); res.Code != 0 || !strings.Contains(res.Stdout+res.Stderr, "the Nodes of the Kubernetes API could not be read, and the agent uses the answer of") {
		t.Errorf("while the API is gone: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	talk(ctx, t, nodes, pods)
	s.Up()
	s.Must("DELETE", "/api/v1/nodes/"+nodes[1].Name(), "")
	nodes[0].Must(ctx, "netwright", "--once")
	if routes := nodes[0].Must(ctx, "ip", "route", "show", podRange(1)); routes != "" {
		t.Errorf("the other Node is gone, and its route is not: %s", routes)
	}
}

// waits checks that a pass waits for the node's pod CIDRs, and why.
func waits(ctx context.Context, t *testing.T, n *node.Node, why string) {
	t.Helper()
	res := n.Run(ctx, "netwright", "--once", "--wait", "1ms")
	if res.Code != 3 || !strings.Contains(res.Stdout+res.Stderr, why) {
		t.Errorf("%s: exit %d, want 3 with %q\n%s%s", n.Name(), res.Code, why, res.Stdout, res.Stderr)
	}
}

// The agent cordons a node for a switch and uncordons it after the switch, with its kubelet's
// credential. A node that somebody else cordoned stays cordoned.
func TestKubernetesCordonsForASwitch(t *testing.T) {
	t.Parallel()
	kubeapi.Tier(t)
	n := newSwitchNode(t, "    bridge: {}\n", "")
	s := kubeapi.Start(t, kubeapi.Options{Netns: n.fabric.Netns(), Address: node.Gateway4})
	join(s, n.Node, "{}")

	since := version(s, n.Name())
	n.wants("    flannel: {backend: vxlan}\n    switch: {allow: true}\n")
	n.once(0)
	if got := marks(t, s, n.Name(), since); got != "false, true by netwright switches its network from bridge to flannel, false" {
		t.Errorf("the Node was unschedulable: %s", got)
	}

	s.Must("PATCH", "/api/v1/nodes/"+n.Name(), `{"spec": {"unschedulable": true}}`) // as a person does it
	since = version(s, n.Name())
	n.wants("    bridge: {}\n    switch: {allow: true}\n")
	n.once(0)
	if got := marks(t, s, n.Name(), since); got != "true" {
		t.Errorf("a Node that a person cordoned was unschedulable: %s", got)
	}

	s.Down()
	n.wants("    flannel: {backend: vxlan}\n    switch: {allow: true}\n")
	if res := n.once(0); !strings.Contains(res.Stdout+res.Stderr, "the node could not be cordoned, and the switch goes on without it") {
		t.Errorf("without the API:\n%s%s", res.Stdout, res.Stderr)
	}
}

// A switch is undone, since the probe fails and nobody can say whether the node is reached. The
// agent tries it again without a command. It cordons the node once, and uncordons it when the
// switch is made.
func TestKubernetesACordonLastsThroughTheTries(t *testing.T) {
	t.Parallel()
	kubeapi.Tier(t)
	ctx, probe := t.Context(), netip.MustParseAddrPort("127.0.0.1:7777")
	n := newSwitchNode(t, "    bridge: {}\n", "probes: [\"tcp:127.0.0.1:7777\"]\nprobeWindow: 5s\n")
	s := kubeapi.Start(t, kubeapi.Options{Netns: n.fabric.Netns(), Address: node.Gateway4})
	join(s, n.Node, "{}")

	since := version(s, n.Name())
	answers := listen(t, n, probe)
	n.wants("    flannel: {backend: vxlan}\n    switch: {allow: true}\n")
	n.Must(ctx, "rm", "/run/go")
	n.Start(ctx, "switch.service", "netwright", "--once")
	n.until("test -e /run/stopping")
	answers.Close() // no answer until the undo
	n.Must(ctx, "touch", "/run/go")
	n.until("! systemctl is-active -q switch.service")
	if n.has("test", "!", "-e", conflistPath) {
		t.Error("the switch is not undone")
	}
	answers = listen(t, n, probe)
	for range 3 {
		n.Run(ctx, "netwright", "--once") // held back, or the next try
	}
	n.until("netwright --once")
	answers.Close()
	if got := marks(t, s, n.Name(), since); got != "false, true by netwright switches its network from bridge to flannel, false" {
		t.Errorf("the Node was unschedulable: %s", got)
	}
}

func version(s *kubeapi.Server, name string) string {
	var n struct {
		Metadata struct{ ResourceVersion string }
	}
	s.Get("/api/v1/nodes/"+name, &n)
	return n.Metadata.ResourceVersion
}

// marks returns from the server's own record whether a Node was unschedulable, and why, at first
// and after each change.
func marks(t *testing.T, s *kubeapi.Server, name, since string) string {
	t.Helper()
	type object struct {
		Metadata struct{ Annotations map[string]string }
		Spec     struct{ Unschedulable bool }
	}
	var out []string
	say := func(o object) {
		text := fmt.Sprint(o.Spec.Unschedulable)
		if why := o.Metadata.Annotations["netwright.dev/cordoned"]; why != "" {
			text += " by " + why
		}
		if len(out) == 0 || out[len(out)-1] != text {
			out = append(out, text)
		}
	}
	answer := s.Must("GET", "/api/v1/nodes?watch=1&timeoutSeconds=2&fieldSelector=metadata.name%3D"+name+"&resourceVersion="+since, "")
	events := json.NewDecoder(strings.NewReader(answer))
	for events.More() {
		var event struct{ Object object }
		if err := events.Decode(&event); err != nil {
			t.Fatal(err)
		}
		if len(out) == 0 && event.Object.Spec.Unschedulable {
			out = append(out, "false") // its first state
		}
		say(event.Object)
	}
	if len(out) == 0 { // nothing changed
		var now object
		s.Get("/api/v1/nodes/"+name, &now)
		say(now)
	}
	return strings.Join(out, ", ")
}

// flannelRules has the API's rules of flannel's manifest.
// https://github.com/flannel-io/flannel/blob/master/Documentation/kube-flannel.yml
const flannelRules = `apiVersion: v1
kind: Namespace
metadata:
  name: kube-flannel
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: flannel
  namespace: kube-flannel
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: flannel
rules:
- {apiGroups: [""], resources: [pods], verbs: [get]}
- {apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [nodes/status], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: flannel
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: flannel}
subjects:
- {kind: ServiceAccount, name: flannel, namespace: kube-flannel}
`

// Pods reach each other by flannel with the real API server as its datastore. flanneld takes its
// range from its Node, and finds the other nodes by their Nodes.
func TestKubernetesFlannel(t *testing.T) {
	t.Parallel()
	kubeapi.Tier(t)
	ctx := t.Context()
	fabric, nodes := twoNodes(t, strings.Replace(bridgeSpec, "bridge: {}", "flannel: {backend: vxlan}", 1))
	s := kubeapi.Start(t, kubeapi.Options{Netns: fabric.Netns(), Address: node.Gateway4})
	s.Apply(flannelRules)
	var pods [2]*node.Pod
	for i, n := range nodes {
		join(s, n, fmt.Sprintf(`{podCIDR: %s, podCIDRs: [%q]}`, podRange(i), podRange(i)))
		n.Copy(assets.Flannel(t), "/opt/cni/bin/flannel", 0o755)
		n.Write("/etc/cni/net.d/.10-flannel.conflist.tmp", daemons.FlannelConf, 0o644)
		n.Must(ctx, "mv", "/etc/cni/net.d/.10-flannel.conflist.tmp", "/etc/cni/net.d/10-flannel.conflist")
		n.Must(ctx, "netwright", "--once", "--wait", "1m")
		n.Copy(assets.Flanneld(t), "/opt/bin/flanneld", 0o755)
		n.Write("/etc/kube-flannel/net-conf.json", `{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}`, 0o644)
		n.Write("/etc/kube-flannel/token", s.Token("kube-flannel", "flannel"), 0o600)
		n.Write("/etc/kube-flannel/kubeconfig", s.TokenKubeconfig(s.Endpoint, "/etc/kube-flannel/token"), 0o600)
		n.Must(ctx, "systemd-run", "--quiet", "--collect", "--unit=flanneld", "--service-type=notify", "--property=TimeoutStartSec=infinity", "--setenv=NODE_NAME="+n.Name(), "--",
			"/opt/bin/flanneld", "--iface=host0", "--ip-masq", "--kube-subnet-mgr", "--kubeconfig-file=/etc/kube-flannel/kubeconfig", "--net-config-path=/etc/kube-flannel/net-conf.json")
		verified(ctx, t, n, 0, "the VXLAN device is up: flannel.1 is up")
		pods[i] = n.AddPod(ctx, "pod", node.PodOptions{})
	}
	// flanneld of node 1 learns of node 2 by its watch.
	nodes[0].Shell(ctx, "until ip route show "+podRange(1)+" | grep -qF 'dev flannel.1'; do sleep 0.1; done")
	talk(ctx, t, nodes, pods)
	if got := s.Must("GET", "/api/v1/nodes/"+nodes[0].Name(), ""); !strings.Contains(got, "flannel.alpha.coreos.com/public-ip") {
		t.Errorf("flanneld has written nothing to its Node: %s", got)
	}
	t.Run("below Multus", func(t *testing.T) { belowMultus(t, s, nodes) })
}

// The daemon reports to its own Node how the node's network is, with its kubelet's credential. An
// API that does not answer keeps nothing back.
func TestKubernetesIsToldOfTheNode(t *testing.T) {
	t.Parallel()
	kubeapi.Tier(t)
	ctx := t.Context()
	fabric := node.NewFabric(t)
	s := kubeapi.Start(t, kubeapi.Options{Netns: fabric.Netns(), Address: node.Gateway4})
	n := fabric.Node(t, options(t, bridgeStore(t), "node-1", "10.77.0.11", node.Options{
		Files: map[string]string{
			"/etc/netwright/agent.yaml":           "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\ninterval: 5s\n",
			"/etc/systemd/system/kubelet.service": standIn,
		},
	}))
	join(s, n, "{}")
	n.Must(ctx, "systemctl", "start", "netwright-agent")
	told(s, n.Name(), "True Converged")

	n.Must(ctx, "sysctl", "-qw", "net.ipv4.ip_forward=0")
	for !strings.Contains(s.Must("GET", "/api/v1/namespaces/default/events", ""), `"reason":"NetworkRepaired"`) {
		time.Sleep(100 * time.Millisecond)
	}
	s.Down()
	n.Must(ctx, "ip", "route", "del", podRange(1))
	for n.Must(ctx, "ip", "route", "show", podRange(1)) == "" {
		time.Sleep(100 * time.Millisecond)
	}
	s.Up()
	for !strings.Contains(s.Must("GET", "/api/v1/namespaces/default/events", ""), "route:") { // it reports late what it could not
		time.Sleep(100 * time.Millisecond)
	}
	n.Must(ctx, "systemctl", "stop", "netwright-agent")
	told(s, n.Name(), "Unknown AgentStopped")
}

// kOps gives an instance's Node the name that the cloud has for it, and tells only kubelet. The
// agent reports to the Node of that name and cordons it. The agent's own name of the node stays.
// The line that keeps it: pkg/host/facts/kubelet.go, NodeName
func TestKubernetesNodeOfAnotherName(t *testing.T) {
	t.Parallel()
	kubeapi.Tier(t)
	ctx, name := t.Context(), "i-0fb5a1c2d3e4f5061"
	n := newSwitchNode(t, "    bridge: {}\n", "interval: 5s\n")
	s := kubeapi.Start(t, kubeapi.Options{Netns: n.fabric.Netns(), Address: node.Gateway4})
	unit := n.Must(ctx, "cat", "/etc/systemd/system/kubelet.service")
	n.Write("/etc/sysconfig/kubelet", "DAEMON_ARGS=\"--cloud-provider=external --hostname-override="+name+"\"\n", 0o644)
	n.Write("/etc/systemd/system/kubelet.service", strings.Replace(unit, "ExecStart=/bin/sleep infinity", "EnvironmentFile=/etc/sysconfig/kubelet\nExecStart=/bin/sh -c 'exec sleep infinity' kubelet \"$DAEMON_ARGS\"", 1), 0o644)
	n.Must(ctx, "systemctl", "daemon-reload")
	joinAs(s, n.Node, name, "{}")

	since := version(s, name)
	n.wants("    flannel: {backend: vxlan}\n    switch: {allow: true}\n")
	n.once(0)
	if got := marks(t, s, name, since); got != "false, true by netwright switches its network from bridge to flannel, false" {
		t.Errorf("the Node was unschedulable: %s", got)
	}
	n.wants("    bridge: {}\n    switch: {allow: true}\n")
	n.once(0) // a daemon delays a switch
	n.Must(ctx, "systemctl", "start", "netwright-agent")
	told(s, name, "True Converged")
	if got := n.Must(ctx, "netwright", "status"); !strings.Contains(got, n.Name()+" ") {
		t.Errorf("the agent's own name is another:\n%s", got)
	}
}

// told waits until a Node's condition is as wanted; the test's own deadline ends what hangs.
func told(s *kubeapi.Server, name, want string) {
	for {
		var n struct {
			Status struct {
				Conditions []struct{ Type, Status, Reason string }
			}
		}
		s.Get("/api/v1/nodes/"+name, &n)
		for _, c := range n.Status.Conditions {
			if c.Type == "NetworkConverged" && c.Status+" "+c.Reason == want {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}
