package e2e

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/rerun"
)

// A switch is killed (kill -9). The next run completes it, at whatever point it was killed, and
// kubelet does not stay stopped. A switch that cuts the node off is undone, and the old conf is
// restored.
func TestSwitchInterrupted(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "it kills the agent")
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
	n.until("netwright --once") // the run applies the generation after a pause
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
	kill() // all is done and not yet confirmed
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
	answers = listen(t, n, probe)                                  // and the node can be reached again
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

// switched checks that the node has left bridge, and that kubelet runs.
func (n switchNode) switched() {
	n.t.Helper()
	if !n.has("systemctl", "is-active", "kubelet") || n.has("ip", "link", "show", "cbr0") || n.has("sh", "-c", "ls /etc/cni/net.d/*.conflist") || podsOf(n.t.Context(), n.t, n.Node)["web"] {
		n.t.Fatalf("it is not switched:\n%s", n.Run(n.t.Context(), "sh", "-c", "systemctl status kubelet; ip -br link; ls /etc/cni/net.d").Stdout)
	}
	if p := plan(n.t.Context(), n.t, n.Node, 0); p.Switch != nil || p.Network != "calico" {
		n.t.Fatalf("the status does not have the new network: %s, %+v", p.Network, p.Switch)
	}
}
