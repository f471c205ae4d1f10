package e2e

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/node"
)

// standIn is a kubelet as systemd sees it. It ends when /run/go is there.
const standIn = "[Service]\nExecStart=/bin/sleep infinity\nTimeoutStopSec=infinity\n" +
	"ExecStop=/bin/sh -c 'touch /run/stopping; while [ ! -e /run/go ]; do sleep 0.1; done; rm /run/stopping'\n"

// switchNode is a booted node with containerd, a stand-in for kubelet, and a network of which pods can be made.
type switchNode struct {
	*node.Node
	t       *testing.T
	plugins string
}

func newSwitchNode(t *testing.T, networking string, agent string) switchNode {
	t.Helper()
	s := newStore(t, "", nil)
	sn := switchNode{t: t, plugins: s.pluginSpec(t)}
	s.write(t, "cluster.yaml", sn.document(networking))
	path, text := nodeDocument("node-1", "10.77.0.11", "[10.244.1.0/24]")
	s.write(t, path, text)
	files := map[string]string{"/etc/systemd/system/kubelet.service": standIn}
	if agent != "" {
		files["/etc/netwright/agent.yaml"] = "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\n" + agent
	}
	sn.Node = node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Copies: map[string]string{"/srv/pause.tar": pauseImage(t)}, Files: files, Enable: []string{"kubelet.service"},
	}))
	ctx := t.Context()
	sn.Must(ctx, "touch", "/run/go")
	sn.Must(ctx, "ctr", "-n", "k8s.io", "images", "import", "/srv/pause.tar")
	sn.Must(ctx, "netwright", "--once")
	return sn
}

func (n switchNode) document(networking string) string {
	return document("Cluster", cluster, "  kubernetesVersion: 1.31.2\n  podCIDR: 10.244.0.0/16\n  nonMasqueradeCIDR: 10.0.0.0/8\n  networking:\n"+networking+n.plugins)
}

// wants changes the network in the store.
func (n switchNode) wants(networking string) {
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", n.document(networking), 0o644)
}

// once converges, and says what came of it.
func (n switchNode) once(code int, args ...string) node.Result {
	n.t.Helper()
	res := n.Run(n.t.Context(), "netwright", append([]string{"--once"}, args...)...)
	if res.Code != code {
		n.t.Fatalf("--once %q: exit %d, want %d\n%s%s", args, res.Code, code, res.Stdout, res.Stderr)
	}
	return res
}

func (n switchNode) has(command string, args ...string) bool {
	return n.Run(n.t.Context(), command, args...).Code == 0
}

func (n switchNode) pings(pod criPod) bool { return n.has("ping", "-c1", "-w10", pod.address.String()) }

// until waits for what a shell says of the node.
func (n switchNode) until(script string) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 3*time.Minute)
	defer cancel()
	for !n.has("sh", "-c", script) {
		if ctx.Err() != nil {
			n.t.Fatalf("never: %s\n%s", script, n.Run(n.t.Context(), "sh", "-c", "ip -d addr; ls -l /etc/cni/net.d; systemctl status kubelet").Stdout)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Decoys are one letter off what bridge leaves, or somebody else's.
const decoys = `ip link add cbr1 type bridge && ip addr add 10.99.0.1/24 dev cbr1 && ip link set cbr1 up &&
ip route add 10.244.9.0/24 dev cbr1 proto 148 && nft add table ip netwrigh && mkdir -p /var/lib/cni/networks/netwright-bridg && touch /etc/cni/net.d/05-netwright-bridge.conflist.bak`

const decoysStay = `ip link show cbr1 && ip route show proto 148 | grep -q 10.244.9.0/24 && nft list table ip netwrigh && test -d /var/lib/cni/networks/netwright-bridg && test -e /etc/cni/net.d/05-netwright-bridge.conflist.bak`

// A node on bridge whose documents want flannel: nothing happens until it is allowed, nor while flannel's agent is there to be confused with; then all of bridge goes,
// in order, and what only resembles it stays.
func TestSwitchNeedsLeave(t *testing.T) {
	ctx := t.Context()
	n := newSwitchNode(t, "    bridge: {}\n", "")
	web, system := runPod(ctx, t, n.Node, "web", false), runPod(ctx, t, n.Node, "system", true)
	n.Shell(ctx, decoys)

	n.wants("    flannel: {backend: vxlan}\n")
	p := plan(ctx, t, n.Node, 2)
	if s := p.Switch; s == nil || s.From != "bridge" || s.To != "flannel" || s.Kind != report.Disruptive || s.Held == "" || len(s.Pods) != 1 || s.Pods[0] != "default/web" || len(s.Removes) == 0 {
		t.Fatalf("the plan says %+v", s)
	}
	if p.Network != "bridge" || p.Summary.Changes() != 0 {
		t.Errorf("beside it the plan is of %s, with %d changes; want bridge, which is right", p.Network, p.Summary.Changes())
	}
	n.Must(ctx, "ip", "link", "set", "cbr0", "down") // it is kept, not only left alone
	if res := n.once(1); !strings.Contains(res.Stdout+res.Stderr, "is disruptive and not allowed, so the node keeps bridge") {
		t.Errorf("a run that may not switch says\n%s%s", res.Stdout, res.Stderr)
	}
	if !n.pings(web) || !n.has("test", "-e", "/etc/cni/net.d/05-netwright-bridge.conflist") || !n.has("systemctl", "is-active", "kubelet") {
		t.Fatal("bridge was not kept")
	}

	n.wants("    flannel: {backend: vxlan}\n    switch: {allow: true, from: calico}\n")
	if res := n.once(1); !strings.Contains(res.Stdout+res.Stderr, "expects calico, so nothing is changed") || !n.pings(web) {
		t.Errorf("with another network expected:\n%s%s", res.Stdout, res.Stderr)
	}
	n.wants("    flannel: {backend: vxlan}\n    switch: {allow: true, pods: wait}\n")
	if res := n.once(3, "--wait", "1s"); !strings.Contains(res.Stdout, "(switch.pods is wait): drain the node") || !n.pings(web) {
		t.Errorf("with pods to wait for:\n%s%s", res.Stdout, res.Stderr)
	}

	n.wants("    flannel: {backend: vxlan}\n    switch: {allow: true, from: bridge}\n")
	since := strings.TrimSpace(n.Must(ctx, "date", "+%s"))
	n.once(0)
	if pods := podsOf(ctx, t, n.Node); pods["web"] || !pods["system"] {
		t.Errorf("pods after the switch: %v, want that on the node's own network alone", pods)
	}
	n.Must(ctx, "sh", "-c", decoysStay)
	for _, gone := range []string{
		"ip link show cbr0", "nft list table ip netwright", "ip route show proto 149 | grep -q .", "ls /etc/cni/net.d/*.conflist", "ls -d /var/lib/cni/networks/netwright-bridge /var/lib/cni/results/netwright-bridge-*",
		"ls /run/netns/cni-*", "iptables-save | grep -e CNI-HOSTPORT -e netwright",
	} {
		if n.has("sh", "-c", gone) {
			t.Errorf("still there: %s\n%s", gone, n.Run(ctx, "sh", "-c", gone).Stdout)
		}
	}
	var order []string
	for line := range strings.Lines(n.Must(ctx, "journalctl", "-q", "-o", "cat", "--since", "@"+since, "-u", "kubelet", "-u", "containerd")) {
		for mark, step := range map[string]string{"Stopped kubelet": "stopped", "StopPodSandbox for": "pod stopped", "RemovePodSandbox for": "pod removed", "Started kubelet": "started"} {
			if strings.Contains(line, mark) && (len(order) == 0 || order[len(order)-1] != step) {
				order = append(order, step)
			}
		}
	}
	if got := strings.Join(order, ", "); got != "stopped, pod stopped, pod removed, started" {
		t.Errorf("the journal has: %s", got)
	}
	if p := plan(ctx, t, n.Node, 0); p.Network != "flannel" || p.Switch != nil || p.Summary.Changes() != 0 {
		t.Errorf("after it: network %s, %+v, %d changes", p.Network, p.Switch, p.Summary.Changes())
	}

	// And back, with a pod of flannel's agent on the node: as long as it runs, nothing is done.
	agent := runPod(ctx, t, n.Node, "kube-flannel-ds", true)
	runContainer(ctx, t, n.Node, agent, "kube-flannel")
	n.wants("    bridge: {}\n")
	before := n.Must(ctx, "systemctl", "show", "-P", "InvocationID", "kubelet")
	if res := n.once(1, "--allow-disruptive"); !strings.Contains(res.Stdout+res.Stderr, "container kube-flannel of pod default/kube-flannel-ds") {
		t.Errorf("while its agent runs:\n%s%s", res.Stdout, res.Stderr)
	}
	if n.has("ip", "link", "show", "cbr0") || n.Must(ctx, "systemctl", "show", "-P", "InvocationID", "kubelet") != before {
		t.Error("something was done while flannel's agent ran")
	}
	removePod(ctx, t, n.Node, agent)
	n.once(0, "--allow-disruptive")
	if again := runPod(ctx, t, n.Node, "again", false); !n.pings(again) {
		t.Error("a pod on bridge does not answer")
	}
	removePod(ctx, t, n.Node, system)
}

// kubenet gives way: it needs nobody's leave, and takes no pod away. With leave it does not wait for them.
func TestSwitchFromKubenet(t *testing.T) {
	ctx := t.Context()
	n := newSwitchNode(t, "    kubenet: {}\n", "")
	tellPodCIDR(t, n.Node, "10.244.1.0/24")
	web := runPod(ctx, t, n.Node, "web", false)
	n.wants("    bridge: {}\n")
	if p := plan(ctx, t, n.Node, 2); p.Switch == nil || p.Switch.Kind != report.Safe || p.Summary.Waiting == 0 {
		t.Errorf("the plan says %+v, %d waiting", p.Switch, p.Summary.Waiting)
	}
	n.once(3, "--wait", "1s")
	if !n.pings(web) || n.has("ip", "link", "show", "cbr0") {
		t.Fatal("kubenet was not kept while a pod has an address of it")
	}
	n.once(0, "--allow-disruptive")
	if podsOf(ctx, t, n.Node)["web"] || n.has("test", "-e", "/etc/cni/net.d/10-containerd-net.conflist") || n.has("grep", "-q", "conf_template", "/etc/containerd/config.toml") {
		t.Errorf("kubenet is still there:\n%s", n.Run(ctx, "sh", "-c", "ls /etc/cni/net.d; cat /etc/containerd/config.toml").Stdout)
	}
	// What kubelet tells it at its start renders no template any more.
	tellPodCIDR(t, n.Node, "10.244.1.0/24")
	if again := runPod(ctx, t, n.Node, "again", false); !n.pings(again) || !strings.Contains(n.Must(ctx, "ip", "route", "get", again.address.String()), "cbr0") {
		t.Error("a pod on bridge does not answer over cbr0")
	}
}

// A switch that is killed (kill -9) is completed by the next run, wherever it was killed, and kubelet is not left stopped. One that cuts the node off is undone, the old
// conf with it.
func TestSwitchInterrupted(t *testing.T) {
	ctx := t.Context()
	probe := netip.MustParseAddrPort("127.0.0.1:7777")
	n := newSwitchNode(t, "    bridge: {}\n", "probes: [\"tcp:127.0.0.1:7777\"]\nprobeWindow: 20s\n")
	const allowed = "    calico: {}\n    switch: {allow: true}\n"
	begin := func() *net.TCPListener {
		runPod(ctx, t, n.Node, "web", false)
		answers := listen(t, n, probe)
		n.wants(allowed)
		n.Must(ctx, "rm", "/run/go")
		n.Start(ctx, "switch.service", "netwright", "--once")
		n.until("test -e /run/stopping")
		return answers
	}
	kill := func() {
		n.Must(ctx, "systemctl", "kill", "-s", "KILL", "switch.service")
		n.until("! systemctl is-active -q switch.service && ! systemctl is-active -q netwright-undo-now.service")
	}

	answers := begin()
	kill() // while kubelet stops
	n.Must(ctx, "touch", "/run/go")
	n.until("netwright --once") // the generation is tried again after a while
	n.switched()
	answers.Close()

	n.wants("    bridge: {}\n")
	answers = listen(t, n, probe)
	n.once(0, "--allow-disruptive")
	answers.Close()
	answers = begin()
	answers.Close() // the probe fails from now on
	n.Must(ctx, "touch", "/run/go")
	n.until("systemctl is-active -q kubelet && test ! -e /etc/cni/net.d/05-netwright-bridge.conflist")
	kill() // when all is done, and not confirmed
	answers = listen(t, n, probe)
	n.until("netwright --once")
	n.switched()
	answers.Close()

	n.wants("    bridge: {}\n")
	answers = listen(t, n, probe)
	n.once(0, "--allow-disruptive")
	answers.Close()
	before := n.Must(ctx, "sh", "-c", "cat /etc/cni/net.d/05-netwright-bridge.conflist; ip -br -4 addr show cbr0; ip route; nft list table ip netwright")
	answers = begin()
	answers.Close()
	n.Must(ctx, "touch", "/run/go")
	n.until("test ! -e /etc/cni/net.d/05-netwright-bridge.conflist")
	n.until("test -e /etc/cni/net.d/05-netwright-bridge.conflist") // the window is over
	answers = listen(t, n, probe)                                  // and the node is reached again
	n.until("! systemctl is-active -q switch.service")
	if !n.has("systemctl", "is-active", "kubelet") || podsOf(ctx, t, n.Node)["web"] {
		t.Error("kubelet is not as it was, or the pod was not removed")
	}
	if after := n.Must(ctx, "sh", "-c", "cat /etc/cni/net.d/05-netwright-bridge.conflist; ip -br -4 addr show cbr0; ip route; nft list table ip netwright"); after != before {
		t.Errorf("after the undo:\n%s\nbefore the switch:\n%s", after, before)
	}
	web := runPod(ctx, t, n.Node, "web", false)
	if res := n.Run(ctx, "netwright", "--once"); res.Code != 1 || !strings.Contains(res.Stdout+res.Stderr, "is bad: probe tcp:127.0.0.1:7777") || !n.pings(web) {
		t.Errorf("the next run: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	answers.Close()
}

// switched says that the node has left bridge, and kubelet runs.
func (n switchNode) switched() {
	n.t.Helper()
	if !n.has("systemctl", "is-active", "kubelet") || n.has("ip", "link", "show", "cbr0") || n.has("sh", "-c", "ls /etc/cni/net.d/*.conflist") || podsOf(n.t.Context(), n.t, n.Node)["web"] {
		n.t.Fatalf("it is not switched:\n%s", n.Run(n.t.Context(), "sh", "-c", "systemctl status kubelet; ip -br link; ls /etc/cni/net.d").Stdout)
	}
	if p := plan(n.t.Context(), n.t, n.Node, 0); p.Switch != nil || p.Network != "calico" {
		n.t.Fatalf("it is not known to be switched: %s, %+v", p.Network, p.Switch)
	}
}
